/* cond_resnet.h - CondResNet, the paper's convolutional body: kernels shared by all bridges, a
 * ScaleShift_k after every layer. With one bridge it is the network g(u), which knows of none. */
#ifndef WMI_NN_COND_RESNET_H
#define WMI_NN_COND_RESNET_H

#include "nn/layers.h"

#define WMI_RESNET_MAX_BLOCKS 16

typedef struct wmi_resnet_block {
    int64_t width; /* channels */
    bool down;     /* 2x2 pooling at the end */
    /* A 1x1 convolution in the shortcut although the width stays. Where the width changes there
     * always is one; the authors' code has more of them, by an off-by-one. */
    bool project;
} wmi_resnet_block;

typedef struct wmi_resnet_opts {
    int64_t height, width, channels; /* of the image */
    struct {
        int window, stride;
        int64_t width;
    } stem;
    int n_blocks;
    wmi_resnet_block block[WMI_RESNET_MAX_BLOCKS];
    int attention; /* self-attention after this many blocks; 0: none */
    bool max_pool; /* in down blocks; else the average */
    bool flat;     /* the dense layer reads every position of the last map, not their sum */
    int64_t dense; /* features; with cells, of each of them */
    /* The image is a grid of cells, each an image to the network (cell_net.h); 0 x 0: it is not. */
    int64_t cells_down, cells_across;
    int64_t join;     /* with cells: features of the whole, by a dense layer; 0: the codes of all */
    double slope;     /* of LeakyReLU: 0.3 */
    double dropout;   /* inside the blocks, in [0, 1): 0 */
    bool per_channel; /* one scale and shift for each channel: false, one for each hidden unit */
} wmi_resnet_opts;

/* The paper's MNIST network: 28x28, 3x3 stem 64, blocks d64, attention, 64, d64, 64, d128, 128,
 * d128, 128, average pooling, dense 128. */
void wmi_resnet_mnist(wmi_resnet_opts *opts);
/* The paper's SpatialMultiOmniglot network for n x n characters: 28n x 28n, 5x5 stride-3 stem
 * `width`, blocks d width, width, then twice d 2 width, 2 width, max pooling, dense 300n. The paper
 * has width = 32n, the authors' code 32. */
void wmi_resnet_omniglot(wmi_resnet_opts *opts, int64_t n, int64_t width);
/* For two cores: 28x28, 5x5 stride-2 stem 32, blocks 32, d32, 64, d64, 64, dense 128. */
void wmi_resnet_laptop(wmi_resnet_opts *opts);

/* A network by a line of text (resnet_text.c), for images of the height, width and channels that o
 * has already; and back. WM_EINVAL names the word that is not understood. */
WM_MUST_CHECK wm_status wmi_resnet_parse(wmi_resnet_opts *o, const char *text, wm_error *err);
const char *wmi_resnet_text(const wmi_resnet_opts *o, char *buf, size_t size);

/* Whether the image is a grid of cells; and how many features there are of an image. */
static inline bool wmi_resnet_has_cells(const wmi_resnet_opts *o)
{
    return o->cells_down > 0;
}
static inline int64_t wmi_resnet_features(const wmi_resnet_opts *o)
{
    if (!wmi_resnet_has_cells(o))
        return o->dense;
    return o->join > 0 ? o->join : o->cells_down * o->cells_across * o->dense;
}

/* x (rows, height * width * channels) -> features (m * n, dense), of an image without cells. Walked
 * (layers.h). */
wmi_value wmi_cond_resnet(wmi_net *net, const wmi_resnet_opts *opts, wmi_value x);

#endif
