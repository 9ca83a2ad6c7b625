/* fuzz_schema.c - any text as a schema. One that is accepted must survive being written and read,
 * byte for byte. */
#include <string.h>

#include "must.h"
#include "waymark/read.h"

static void look_at(const wm_schema *s)
{
    char what[32];

    for (int64_t j = -1; j <= wm_schema_dim(s); j++) {
        (void)wm_schema_name(s, j);
        (void)wm_schema_kind(s, j);
        (void)wm_schema_describe(s, j, what, sizeof what);
        for (int64_t k = -1; k <= wm_schema_levels(s, j); k++)
            (void)wm_schema_level(s, j, k);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int64_t live = wmi_alloc_live();
    char *text = malloc(size + 1), *first = NULL, *second = NULL;
    wm_schema *s = NULL, *t = NULL;
    wm_error err = {0};

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (!wm_schema_parse(&s, text, &err)) {
        look_at(s);
        must(!wm_schema_write(s, &first, &err), "cannot be written", &err);
        must(!wm_schema_parse(&t, first, &err), "cannot be read again", &err);
        must(!wm_schema_write(t, &second, &err), "cannot be written again", &err);
        must(strcmp(first, second) == 0, "is another after a round", &err);
    } else {
        must(!s && *err.text, "no message", &err);
    }
    wm_schema_free(s);
    wm_schema_free(t);
    wm_text_free(first);
    wm_text_free(second);
    free(text);
    must(wmi_alloc_live() == live, "blocks were not freed", &err);
    return 0;
}
