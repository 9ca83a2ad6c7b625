/* fuzz_png.c - any bytes as a PNG image. One that is read must be averaged over areas without harm.
 */
#include "images/png_read.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t live = wmi_alloc_live();
    uint8_t canvas[28 * 28];
    wm_error err = {0};
    wmi_picture p;

    if (!wmi_png_read(&p, data, size, "image", &err)) {
        must(p.pixels && p.height >= 1 && p.width >= 1 && (p.channels == 1 || p.channels == 3),
             "an image without pixels", &err);
        wmi_picture_ink(&p, 28, canvas);
        wmi_free(p.pixels);
    } else {
        must(!p.pixels && *err.text, "no message", &err);
    }
    must(wmi_alloc_live() == live, "blocks were not freed", &err);
    return 0;
}
