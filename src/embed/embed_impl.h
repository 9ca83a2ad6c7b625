/* embed_impl.h - the inside of a wm_embed, shared by the files that fit, use and store it. */
#ifndef WMI_EMBED_EMBED_IMPL_H
#define WMI_EMBED_EMBED_IMPL_H

#include "nn/bridge_model.h"
#include "waymark/embed.h"

enum { WMI_EMBED_TEXT = 512 }; /* bytes of a network as text */

struct wm_embed {
    wm_embed_info info;
    int64_t mlp_width, mlp_blocks, mlp_out; /* of vectors */
    char network[WMI_EMBED_TEXT];           /* of images; "" where neither side is one */
    int64_t *blocks;                        /* (dim_v) */
    wm_columns *columns[2];                 /* of u and v, or NULL */
    wmi_model net;
    wmi_params *params;
    float *theta;       /* (wmi_params_count) */
    wm_bridge *bridges; /* (m) */
};

/* From info (objective, dims, shapes, bridges, blocks) and the settings above:
 * the network, its table, and zeroed theta and bridges; the array `blocks` is not touched.
 * info.features and info.parameters are set. */
WM_MUST_CHECK wm_status wmi_embed_open(wm_embed *e, wm_error *err);

#endif
