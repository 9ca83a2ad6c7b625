/* distort.h - a drawing as another hand might have drawn it: turned, scaled, sheared, shifted and
 * bent a little, so that what learns from few drawings does not learn them by heart. */
#ifndef WMI_IMAGES_DISTORT_H
#define WMI_IMAGES_DISTORT_H

#include <stdint.h>

#include "base/rng.h"

/* to (28, 28), which is not from, shows from (28, 28) under a random smooth map around the middle
 * of its ink, so that a drawing that stands aside stays as it is. strength: 0, no change; 1, what
 * still reads well: turned by 9 degrees, scaled by 12 % and sheared by 0.15 (one standard
 * deviation each), shifted by 1.5 pixels, bent by 1 pixel. A function of rng alone. Cost: 5 us. */
void wmi_distort(const uint8_t *from, const wmi_rng *rng, double strength, uint8_t *to);

#endif
