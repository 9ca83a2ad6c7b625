/* glyph_design.h - characters of scripts that nobody writes: what they are made of, apart from the
 * hand that draws them. */
#ifndef WMI_IMAGES_GLYPH_DESIGN_H
#define WMI_IMAGES_GLYPH_DESIGN_H

#include "base/rng.h"
#include "images/ink.h"

enum { WMI_GLYPH_STROKES = 5, WMI_SCRIPT_WORDS = 9 };

typedef struct wmi_glyph {
    int n; /* strokes, 1 to WMI_GLYPH_STROKES */
    wmi_stroke strokes[WMI_GLYPH_STROKES];
} wmi_glyph;

/* What the characters of an alphabet have in common. */
typedef struct wmi_script {
    int n_words; /* strokes that the script is made of, each turned its own way */
    wmi_stroke words[WMI_SCRIPT_WORDS];
    double strokes; /* mean number of strokes */
    double joined;  /* share of further strokes that touch an earlier one */
    double dotted;  /* share of characters with a dot */
    double slant;   /* shift to the right over the height */
    double aspect;  /* width over height */
} wmi_script;

wmi_script wmi_script_make(const wmi_rng *rng);
/* A character, in the middle of the canvas and 50 to 70 % of its side large. */
void wmi_glyph_make(wmi_glyph *g, const wmi_script *script, const wmi_rng *rng);

#endif
