/* progress.c - a line with a bar, rate and time to go. Tasks that end within two seconds are never
 * spoken of; in a log, one line every five seconds is enough. */
#include "frame/progress.h"

#include <math.h>
#include <sys/ioctl.h>

#define PATIENCE 2.0 /* seconds before the first word about a task */
#define PAUSE 5.0    /* seconds between two lines in a log */
#define BAR 20       /* columns */

const char *progress_time(char out[32], double seconds)
{
    const double s = floor(seconds + 0.5);

    if (!(s >= 0) || s > 1e9)
        snprintf(out, 32, "?");
    else if (s >= 3600)
        snprintf(out, 32, "%.0f:%02.0f:%02.0f", floor(s / 3600), floor(fmod(s, 3600) / 60),
                 fmod(s, 60));
    else
        snprintf(out, 32, "%.0f:%02.0f", floor(s / 60), fmod(s, 60));
    return out;
}

void progress_init(progress *p, FILE *out, bool terminal, bool quiet)
{
    *p = (progress){.out = out, .terminal = terminal, .quiet = quiet};
}

void progress_clear(progress *p)
{
    if (p->drawn)
        fputs("\r\033[K", p->out);
    p->drawn = 0;
    fflush(p->out);
}

static void hear_line(void *ctx, wm_log_level level, const char *text)
{
    progress *p = ctx;

    if (p->quiet || level == WM_LOG_DEBUG)
        return;
    progress_clear(p);
    fprintf(p->out, "%s%s\n", level == WM_LOG_WARN ? "warning: " : "", text);
    fflush(p->out);
}

static int terminal_width(FILE *out)
{
    struct winsize size;

    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        return size.ws_col;
    return 80;
}

/* 1830 of 40000 steps  loss 0.612  214/s  to go 3:01 */
static void describe(char *out, size_t size, const wm_progress *w, bool finished)
{
    char time[32];
    int n;

    if (w->total > 0)
        n = snprintf(out, size, "%lld of %lld %s", (long long)w->done, (long long)w->total,
                     w->unit);
    else
        n = snprintf(out, size, "%lld %s", (long long)w->done, w->unit);
    if (*w->message && n < (int)size)
        n += snprintf(out + n, size - (size_t)n, "  %s", w->message);
    if (w->rate > 0 && n < (int)size)
        n += snprintf(out + n, size - (size_t)n, w->rate < 10 ? "  %.2g/s" : "  %.0f/s", w->rate);
    if (finished && n < (int)size)
        snprintf(out + n, size - (size_t)n, "  took %s", progress_time(time, w->elapsed));
    else if (isfinite(w->eta) && n < (int)size)
        snprintf(out + n, size - (size_t)n, "  to go %s", progress_time(time, w->eta));
}

static void draw(progress *p, const wm_progress *w, const char *text)
{
    const int width = terminal_width(p->out) - 1;
    char line[640];
    int n = 0, bytes;

    if (w->total > 0) {
        const double share = (double)w->done / (double)w->total;
        const int full = (int)(share * BAR);

        n = snprintf(line, sizeof line, "[%.*s%.*s] %3.0f%%  ", full, "####################",
                     BAR - full, "....................", floor(100 * share));
    }
    snprintf(line + n, sizeof line - (size_t)n, "%s", text);
    /* Cut by letters, not bytes: a line that wraps cannot be rewritten. */
    for (bytes = 0, n = 0; line[bytes]; bytes++) {
        const bool starts = ((unsigned char)line[bytes] & 0xc0) != 0x80;

        if (starts && n == width)
            break;
        n += starts;
    }
    fprintf(p->out, "\r%.*s\033[K", bytes, line);
    fflush(p->out);
    p->drawn = n;
}

static void hear_progress(void *ctx, const wm_progress *w)
{
    progress *p = ctx;
    const bool finished = w->total > 0 && w->done >= w->total;
    char text[512];

    if (p->quiet)
        return;
    if (w->elapsed < p->spoke) { /* another task has begun */
        p->shown = false;
        p->spoke = 0;
    }
    if (!p->shown && w->elapsed < PATIENCE)
        return;
    describe(text, sizeof text, w, finished);
    if (p->terminal && !finished) {
        draw(p, w, text);
    } else if (finished || !p->shown || w->elapsed - p->spoke >= PAUSE) {
        if (!finished || p->shown) {
            progress_clear(p);
            fprintf(p->out, "%s\n", text);
            fflush(p->out);
        }
    } else {
        return;
    }
    p->shown = !finished;
    p->spoke = finished ? 0 : w->elapsed;
}

wm_sink progress_sink(progress *p)
{
    wm_sink sink;

    wm_sink_init(&sink);
    sink.ctx = p;
    sink.log = hear_line;
    sink.progress = hear_progress;
    sink.interval = p->terminal ? 0.2 : 1;
    return sink;
}
