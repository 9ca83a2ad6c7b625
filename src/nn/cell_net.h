/* cell_net.h - a CondResNet that sees each cell of a grid of pictures as a picture of its own.
 *
 *   cells -> the ResNet, which knows of no bridge -> a code for each cell -> all codes of a row
 *   side by side -> ScaleShift_k; or, with join: -> dense -> ScaleShift_k -> LeakyReLU
 *
 * Where waymarks mix whole cells, the code of a cell is the same in all of them: a step of training
 * computes the codes of both ends once, and mixes those, instead of passing every waymark through
 * the network. */
#ifndef WMI_NN_CELL_NET_H
#define WMI_NN_CELL_NET_H

#include "nn/cond_resnet.h"

/* x (rows, height * width * channels) -> features (m * n, wmi_resnet_features()).
 * mix (k * cells), or NULL: the cells of k rows, n for each bridge in turn, by the numbers of the
 * cells of x, in the order of reading, row after row; the features are those of these rows.
 * Walked (layers.h). */
wmi_value wmi_cell_net(wmi_net *net, const wmi_resnet_opts *opts, wmi_value x, wmi_node *mix);

#endif
