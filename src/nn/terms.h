/* terms.h - terms of a model by name, and sums of them: "quadratic+mlp". The one list of names. */
#ifndef WMI_NN_TERMS_H
#define WMI_NN_TERMS_H

#include <stddef.h>

#include "base/fail.h"

/* The name of the term 1 << i, which is also that of its parameters; i below WMI_TERMS. */
enum { WMI_TERMS = 7 };
const char *wmi_term_name(int i);
/* The terms of model in the order of their bits, joined by '+', in buf. */
const char *wmi_terms_text(unsigned model, char *buf, size_t size);
/* And back. WM_EINVAL names the word that is none of those in `known`, and these. */
WM_MUST_CHECK wm_status wmi_terms_parse(unsigned known, const char *text, unsigned *out,
                                        wm_error *err);

#endif
