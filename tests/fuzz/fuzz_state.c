/* fuzz_state.c - training states and states of chains that somebody has changed, checksums and all:
 * a run that was stopped goes on from them. The first byte of the input picks the state, the others
 * are patches. A message that names the file, or an answer; nothing else. */
#include <math.h>
#include <string.h>

#include "data/formats/safetensors_sums.h"
#include "patches.h"
#include "waymark/ebm.h"
#include "waymark/ratio.h"

enum { FIT, RATIO, AIS, DRAWS, KINDS };
enum { ROWS = 40, DIM = 2, DRAWN = 3, STEPS = 4 };

static patched good[KINDS], changed;
static char path[PATCH_PATH];
static wm_data *rows;
static wm_ebm *model;

static void end(void)
{
    static const char *const others[] = {"", ".heads", ".draws", ".noise"};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char name[PATCH_PATH + 16], *dot;

        snprintf(name, sizeof name, "%s", path);
        dot = strrchr(name, '.');
        snprintf(dot, 32, "%s.safetensors", others[i]);
        unlink(name);
    }
    wm_ebm_free(model);
    wm_data_free(rows);
}

/* Half-way: there is something to go on with. */
static int leave(void *ctx, const wm_evaluation *e)
{
    (void)ctx;
    return e->step < STEPS;
}

/* What a state is of: a fit or a walk with these settings, which writes it or goes on from it. */
static wm_status go(int kind, bool resume, wm_error *err)
{
    wm_fit_control c;
    wm_status st;

    wm_fit_control_init(&c);
    c.checkpoint = path;
    c.checkpoint_seconds = resume ? 1000 : 1e-9;
    c.resume = resume;
    c.on_eval = resume ? NULL : leave;
    if (kind == FIT) {
        wm_ebm *e = NULL;
        wm_ebm_opts o;

        wm_ebm_opts_init(&o);
        o.bridges = 2;
        o.model = WM_EBM_QUADRATIC;
        o.train[WM_STAGE_BRIDGES] = (wm_adam_opts)WM_ADAM(STEPS, 12, 1e-3, 0.9);
        o.train[WM_STAGE_BRIDGES].eval_every = STEPS / 2;
        o.control = c;
        if (!model) {
            o.control.checkpoint = NULL;
            o.control.on_eval = NULL;
            must(!wm_ebm_fit(&model, rows, NULL, &o, err), "no model to begin with", err);
            o.control = c;
        }
        st = wm_ebm_fit(&e, rows, NULL, &o, err);
        wm_ebm_free(e);
    } else if (kind == RATIO) {
        wm_ratio *r = NULL;
        wm_ratio_opts o;

        wm_ratio_opts_init(&o);
        o.model = WM_RATIO_MLP;
        o.optimizer = WM_OPTIMIZER_ADAM;
        o.pairs = 1;
        o.width = 2;
        o.bridges = 1;
        o.adam.iterations = STEPS;
        o.adam.eval_every = STEPS / 2;
        o.adam.batch = 12;
        o.control = c;
        st = wm_ratio_fit(&r, rows, NULL, &o, err);
        wm_ratio_free(r);
    } else {
        wm_ebm_walk w;

        wm_ebm_walk_init(&w);
        w.chains = 2;
        w.steps = 4;
        w.max_depth = 2;
        w.draws = DRAWN;
        w.warmup = w.thin = 2;
        w.draw_depth = 2;
        w.control = c;
        if (kind == AIS) {
            wm_ais ais = {0};

            st = wm_ebm_ais(&ais, NULL, model, &w, err);
        } else {
            wm_draws *d = NULL;

            st = wm_ebm_sample(&d, NULL, model, &w, err);
            wm_ebm_draws_free(d);
        }
    }
    return st;
}

static void begin(void)
{
    wm_error err = {0};
    char draws[PATCH_PATH + 16];

    patch_path(path, "state.safetensors");
    if (wm_data_new(&rows, ROWS, DIM, NULL, NULL))
        abort();
    for (int64_t i = 0; i < ROWS * DIM; i++)
        wm_data_rows_mut(rows)[i] = sin(1.7 * (double)(i * i % 101));
    atexit(end);
    for (int kind = 0; kind < KINDS; kind++) {
        unlink(path);
        (void)go(kind, false, &err); /* fits are stopped */
        snprintf(draws, sizeof draws, "%.*s.draws.safetensors", (int)(strrchr(path, '.') - path),
                 path);
        must(access(kind == DRAWS ? draws : path, R_OK) == 0, "no state to begin with", &err);
        patch_read(&good[kind], kind == DRAWS ? draws : path);
    }
    wmi_st_sums_trust(true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char draws[PATCH_PATH + 16];
    wm_error err = {0};
    int64_t live;
    int kind;
    wm_status st;

    if (!rows)
        begin();
    if (size < 1)
        return 0;
    live = wmi_alloc_live();
    kind = data[0] % KINDS;
    patch_all(&changed, good[kind].byte, good[kind].n, data + 1, size - 1);
    snprintf(draws, sizeof draws, "%.*s.draws.safetensors", (int)(strrchr(path, '.') - path), path);
    unlink(draws);
    unlink(path);
    patch_write(&changed, kind == DRAWS ? draws : path);
    st = go(kind, true, &err);
    must(!st || (err.code == st && *err.text), "a failure without words", &err);
    must(st != WM_EFORMAT || strstr(err.text, "safetensors"), "the file is not named", &err);
    must(wmi_alloc_live() == live, "blocks were not freed", &err);
    return 0;
}
