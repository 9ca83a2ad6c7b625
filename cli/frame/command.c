/* command.c - the frame around every command. */
#include "frame/command.h"

#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/interrupt.h"
#include "frame/progress.h"
#include "frame/ranks.h"
#include "waymark/version.h"

#define MAX_COMMANDS 128

/* --- common options ----------------------------------------------------------------------------*/

#define OPTS cli_common

static const struct {
    unsigned bit; /* 0: always */
    opt_row row;
} common_rows[] = {
    {0, HEADING("Common options")},
    {CLI_SEED, INTEGER(seed, "seed", "N", 0, 9.2e18, "seed of all random numbers")},
    {0, INTEGER(threads, "threads", "N", 1, 4096, "threads to use", .unset = "all cores")},
    {CLI_RUN, TEXT(out, "out", "DIR", "run folder: settings, model, metrics, summary, figures",
                   .letter = 'o', .transient = true)},
    {CLI_RUN,
     FLAG(resume, "resume", "go on with the run in DIR, with its settings", .transient = true)},
    {CLI_RUN, FLAG(overwrite, "overwrite", "replace the run in DIR", .transient = true)},
    {CLI_TIME | CLI_TIMER,
     DURATION(time_limit, "time-limit", "TIME", 0, 1e9, "stop in good order after 45s, 30m, 1h30m",
              .above = true, .transient = true, .unset = "none")},
    {CLI_RANKS,
     DURATION(rank_limit, "rank-limit", "TIME", 0, 1e9,
              "of several processes: how long one waits for another before the job is ended",
              .above = true, .transient = true, .unset = "1h")},
    {CLI_TIME,
     FLAG(tensorboard, "tensorboard",
          "metrics also as an event file in DIR: tensorboard --logdir DIR", .transient = true)},
    {CLI_BITS, FLAG(bits, "bits", "print bits instead of nats")},
    {CLI_STRICT, FLAG(strict, "strict", "exit with code 3 when a check fails")},
    {0, FLAG(json, "json", "print one JSON object instead of tables", .transient = true)},
    {0,
     FLAG(quiet, "quiet", "print the result and nothing else", .letter = 'q', .transient = true)},
    {0, TEXT(config, "config", "FILE", "JSON object of options; the command line wins",
             .transient = true)},
};
#define N_COMMON (sizeof common_rows / sizeof *common_rows)

/* What one invocation owns. */
typedef struct invocation {
    const cli_command *const *table;
    const cli_command *command;
    const char *first; /* word after the command, or NULL */
    wm_comm *comm;     /* of the processes that share the work, or NULL */
    cli_common common;
    void *opts;
    opt_row rows[N_COMMON + 1]; /* those that the command takes */
    opt_set set;
} invocation;

static void start_options(invocation *v)
{
    const cli_command *c = v->command;
    int n = 0;

    opt_free(&v->set);
    v->common = (cli_common){.seed = 1, .threads = WM_AUTO};
    memset(v->opts, 0, c->opts_size);
    if (c->defaults)
        c->defaults(v->opts);
    v->set = (opt_set){.command = c->name};
    if (c->rows) {
        v->set.group[0].rows = c->rows;
        v->set.group[v->set.n_groups++].values = v->opts;
    }
    memset(v->rows, 0, sizeof v->rows);
    for (size_t i = 0; i < N_COMMON; i++)
        if (!common_rows[i].bit || common_rows[i].bit & c->common)
            v->rows[n++] = common_rows[i].row;
    v->set.group[v->set.n_groups].rows = v->rows;
    v->set.group[v->set.n_groups++].values = &v->common;
}

/* --- help --------------------------------------------------------------------------------------*/

static bool begins(const cli_command *c, const char *prefix)
{
    return strncmp(c->name, prefix, strlen(prefix)) == 0;
}

/* The commands whose name begins with prefix, under a heading, if there are any. */
static bool print_list(const cli_command *const *table, const char *prefix, const char *heading,
                       FILE *f)
{
    int widest = 0;
    bool any = false;

    for (int i = 0; table[i]; i++)
        if ((int)strlen(table[i]->name) > widest)
            widest = (int)strlen(table[i]->name);
    for (int i = 0; table[i]; i++)
        if (begins(table[i], prefix)) {
            fprintf(f, "%s  %-*s  %s\n", any ? "" : heading, widest, table[i]->name,
                    table[i]->about);
            any = true;
        }
    return any;
}

static void print_command_help(const invocation *v, FILE *f)
{
    const cli_command *c = v->command;
    char prefix[48];

    fprintf(f, "Usage: waymark %s%s%s [options]\n\n%s\n", c->name, c->arguments ? " " : "",
            c->arguments ? c->arguments : "", c->about);
    for (const char *p = c->details; p && *p; p += strcspn(p, "\n"), p += *p == '\n') {
        fputs("\n", f);
        opt_print_wrapped(p, 0, 0, f);
    }
    if (c->rows && c->rows[0].kind != OPT_HEADING)
        fputs("\nOptions\n", f);
    opt_print_help(&v->set, f);
    if (c->examples) {
        fputs("\nExamples\n", f);
        for (const char *p = c->examples; *p;) {
            const int n = (int)strcspn(p, "\n");

            fprintf(f, "  %.*s\n", n, p);
            p += n + (p[n] == '\n');
        }
    }
    snprintf(prefix, sizeof prefix, "%.40s ", c->name);
    print_list(v->table, prefix, "\nCommands of their own\n", f);
}

static void print_help(const cli_command *const *table, FILE *f)
{
    fputs("waymark: density ratios, mutual information and energy-based models from samples,\n"
          "by telescoping density-ratio estimation\n\n"
          "Usage: waymark COMMAND [options]\n\n",
          f);
    print_list(table, "", "Commands\n", f);
    fputs("\n`waymark help COMMAND` shows its options and examples; `waymark --version` the "
          "version.\nExit codes: 0 done, 1 failed, 2 wrong usage, 3 done but a check failed "
          "(--strict).\n",
          f);
}

/* --- running -----------------------------------------------------------------------------------*/

double cli_time_left(const cli_call *call)
{
    const double limit = call->common->time_limit;

    return limit > 0 ? fmax(call->started + limit - wm_clock(NULL), 1e-3) : 0;
}

static void steer(wm_fit_control *c, const cli_call *call)
{
    c->seed = (uint64_t)call->common->seed;
    c->time_limit =
        call->command->common & CLI_TIMER ? cli_time_left(call) : call->common->time_limit;
    c->resume = call->common->resume;
    c->sink = call->sink;
    c->stop = call->stop;
    c->comm = call->comm;
}

wm_fit_control cli_control(const cli_call *call)
{
    wm_fit_control c;

    wm_fit_control_init(&c);
    steer(&c, call);
    return c;
}

wm_status cli_steer(wm_fit_control *control, cli_call *call, const char *state, wm_error *err)
{
    char path[CLI_PATH_SIZE] = "";
    wm_status st;

    steer(control, call);
    if ((st = wm_run_folder_path(&control->checkpoint, call->run, state, err)) || !call->comm)
        return st;
    if (control->checkpoint)
        snprintf(path, sizeof path, "%s", control->checkpoint);
    if ((st = wm_comm_broadcast(call->comm, 0, path, sizeof path, err)))
        return st;
    if (call->helper && *path) { /* the first rank's folder: it has one name for all */
        snprintf(call->state, sizeof call->state, "%s", path);
        control->checkpoint = call->state;
    }
    return WM_OK;
}

bool cli_shows_tables(const cli_call *call)
{
    return !call->common->json;
}

wm_status cli_publish(cli_call *call, wm_error *err)
{
    wm_status st;

    call->published = true;
    wm_summary_real(call->summary, "seconds", wm_clock(NULL) - call->started);
    if ((st = wm_run_folder_summary(call->run, call->summary, err)))
        return st;
    return call->common->json ? wm_summary_print(call->summary, stdout, err) : WM_OK;
}

wm_status cli_draw(const cli_call *call, wm_figure **figures, int n, wm_error *err)
{
    wm_status st = WM_OK;

    for (int i = 0; i < n; i++) {
        if (figures[i] && !st)
            st = wm_run_folder_figure(call->run, figures[i], call->sink, err);
        else
            wm_figure_free(figures[i]);
        figures[i] = NULL;
    }
    return st;
}

static wm_status write_page(cli_call *call, wm_error *err)
{
    const char *page;
    wm_status st;

    if ((st = wm_run_folder_path(&page, call->run, "report.html", err)) || !page)
        return st;
    return wm_report_write(NULL, call->common->out, page, call->sink, err);
}

wm_status cli_model_path(char path[CLI_PATH_SIZE], const char *given, const char *maker,
                         wm_error *err)
{
    struct stat info;
    const bool folder = stat(given, &info) == 0 && S_ISDIR(info.st_mode);
    const char *rest = !folder                           ? ""
                       : given[strlen(given) - 1] == '/' ? "model.safetensors"
                                                         : "/model.safetensors";

    if (snprintf(path, CLI_PATH_SIZE, "%s%s", given, rest) >= CLI_PATH_SIZE)
        return opt_fail(err, "%.140s...: the path of the model is too long", given);
    if (folder && wm_run_folder_settle(given, err))
        return err->code;
    if (folder && stat(path, &info))
        return opt_fail(err, "%.140s: holds no model.safetensors; `waymark %s -o DIR` makes one",
                        given, maker);
    return WM_OK;
}

wm_status cli_path(char path[CLI_PATH_SIZE], const char *folder, const char *name, const char *end,
                   cli_call *call, wm_error *err)
{
    const bool slash = *folder && folder[strlen(folder) - 1] != '/';

    if (snprintf(path, CLI_PATH_SIZE, "%s%s%s%s", folder, slash ? "/" : "", name, end) >=
        CLI_PATH_SIZE)
        return cli_usage(call, err, "the path of %.60s%s is too long", name, end);
    return WM_OK;
}

wm_status cli_spare_files(const char *const *paths, int n, bool overwrite, wm_error *err)
{
    for (int i = 0; i < n && !overwrite; i++)
        if (access(paths[i], F_OK) == 0)
            return opt_fail(err, "%.180s: is there already; --overwrite replaces it", paths[i]);
    return WM_OK;
}

wm_status cli_spare_inputs(const cli_call *call, const char *out, bool overwrite, wm_error *err)
{
    struct stat to, from;

    if (overwrite || !out || stat(out, &to) || !S_ISREG(to.st_mode))
        return WM_OK;
    for (int i = 0; i < call->n_args; i++)
        if (stat(call->args[i], &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
            return opt_fail(err, "%.180s: is read by this command; --overwrite replaces it", out);
    return WM_OK;
}

static wm_status open_run(cli_call *call, const invocation *v, wm_error *err)
{
    const wm_run_mode mode = v->common.overwrite ? WM_RUN_OVERWRITE
                             : v->common.resume  ? WM_RUN_RESUME
                                                 : WM_RUN_NEW;
    wm_summary *config = NULL;
    wm_status st;

    if (!v->common.out)
        return WM_OK;
    if ((st = wm_run_folder_open(&call->run, v->common.out, v->command->name, mode, err)) ||
        (st = wm_summary_new(&config, err)))
        return st;
    if (v->common.tensorboard)
        wm_run_folder_tensorboard(call->run);
    opt_write_config(&v->set, config);
    st = wm_run_folder_config(call->run, config, err);
    wm_summary_free(config);
    return st;
}

static wm_status start_summary(cli_call *call, const cli_command *c, wm_error *err)
{
    wm_status st = wm_summary_new(&call->summary, err);

    if (st)
        return st;
    wm_summary_text(call->summary, "command", c->name);
    wm_summary_null(call->summary, "seconds");
    if (c->common & CLI_SEED)
        wm_summary_integer(call->summary, "seed", call->common->seed);
    wm_summary_integer(call->summary, "threads", omp_get_max_threads());
    return WM_OK;
}

/* The word that is nearest to `word` and follows `before` ("reproduce ", or "" for the first word)
 * in the name of a command; NULL: none is near. */
static const char *nearest_word(char out[48], const cli_command *const *table, const char *before,
                                const char *word)
{
    const char *names[MAX_COMMANDS + 2], *near;
    char words[MAX_COMMANDS][48];
    int n = 0;

    for (int i = 0; i < MAX_COMMANDS && table[i]; i++)
        if (begins(table[i], before)) {
            const char *rest = table[i]->name + strlen(before);

            snprintf(words[n], sizeof words[n], "%.*s", (int)strcspn(rest, " "), rest);
            names[n] = words[n];
            n++;
        }
    if (!*before)
        names[n++] = "help";
    names[n] = NULL;
    if ((near = opt_nearest(word, names)))
        snprintf(out, 48, "%s", near);
    return near ? out : NULL;
}

/* After a message of wrong usage. `data mnits` may be meant as the command `data mnist`. */
static void print_hint(const invocation *v)
{
    const char *name = v->command->name;
    char before[48], near[48];

    snprintf(before, sizeof before, "%.40s ", name);
    if (v->first && nearest_word(near, v->table, before, v->first))
        fprintf(stderr, "Did you mean `waymark %s %s`?\n", name, near);
    fprintf(stderr, "`waymark help %s` shows what it takes.\n", name);
}

/* The option that would help after a failure of the library, which knows no options: by the name of
 * the setting. */
static void print_topic(const opt_set *set, const char *topic)
{
    const opt_row *r = opt_find(set, topic);

    if (strcmp(topic, "resume") == 0)
        fprintf(stderr, "--resume goes on from here.\n");
    else if (r)
        fprintf(stderr, "See --%s %s: %s.\n", r->name, r->arg ? r->arg : "", r->help);
}

/* The command that goes on with a run that was stopped; its folder knows the rest. */
static void print_resume(const invocation *v)
{
    const char *out = v->common.out;
    const bool plain = !out[strcspn(out, " \t\"'$&;()<>|*?[]#~`\\!")];

    fprintf(stderr, "Go on with: waymark %s -o %s", v->command->name, plain ? out : "'");
    for (const char *p = plain ? "" : out; *p; p++) /* for a shell to read */
        fprintf(stderr, *p == '\'' ? "'\\''" : "%c", *p);
    fprintf(stderr, "%s --resume\n", plain ? "" : "'");
}

/* What the frame does before the command itself. Of several processes the first opens the folder,
 * and all hear how that went. */
static wm_status prepare(cli_call *call, const invocation *v, wm_error *err)
{
    wm_status st;

    if ((st = wm_blas_reserve(err)) || (st = start_summary(call, v->command, err)))
        return st;
    for (int i = 0; call->comm && i < call->n_args; i++)
        if (strcmp(call->args[i], "-") == 0)
            return cli_usage(call, err,
                             "several processes cannot read standard input: name a file");
    if (!call->comm)
        return open_run(call, v, err);
    wm_comm_set_limit(call->comm, v->common.rank_limit);
    wm_summary_integer(call->summary, "ranks", wm_comm_size(call->comm));
    /* Nobody may still read the settings of a run that is to be replaced. */
    if ((st = wm_comm_agree(call->comm, WM_OK, err)))
        return st;
    return wm_comm_agree(call->comm, call->helper ? WM_OK : open_run(call, v, err), err);
}

/* A command that is not shared out is the first rank's alone; the others wait for its end. */
static bool is_idle(const invocation *v)
{
    return wm_comm_rank(v->comm) > 0 && !(v->command->common & CLI_RANKS);
}
/* A run is on disk before anybody who reads its words can end it: a pipe that closes (`| head`), a
 * full disk under standard output. They are kept back here until cli_main(). */
static char kept_words[1 << 20];

static int run_command(const invocation *v)
{
    const cli_command *c = v->command;
    wm_error err = {0};
    progress words;
    wm_sink sink;
    cli_call call = {.command = c,
                     .common = &v->common,
                     .opts = v->opts,
                     .args = (const char *const *)v->set.args,
                     .n_args = v->set.n_args,
                     .stop = interrupt_flag(),
                     .comm = c->common & CLI_RANKS ? v->comm : NULL,
                     .helper = wm_comm_rank(v->comm) > 0,
                     .started = wm_clock(NULL)};
    wm_status st;

    if (is_idle(v))
        return CLI_DONE;
    if (v->common.threads > 0)
        omp_set_num_threads((int)v->common.threads);
    else if (call.comm)
        ranks_set_threads(call.comm);
    progress_init(&words, stderr, isatty(STDERR_FILENO), v->common.quiet);
    sink = progress_sink(&words);
    call.sink = &sink;
    interrupt_install(v->common.quiet);
    if (v->common.out && !isatty(STDOUT_FILENO))
        setvbuf(stdout, kept_words, _IOFBF, sizeof kept_words);
    if (!(st = prepare(&call, v, &err)))
        st = c->run(&call, &err);
    if (!st && !call.published && !call.helper)
        st = cli_publish(&call, &err);
    if (!st)
        st = wm_run_folder_finish(call.run, &err);
    if (!st)
        st = write_page(&call, &err);
    progress_clear(&words);
    if (st == WM_EINTERRUPTED && !v->common.quiet)
        fprintf(stderr, "waymark %s: stopped%s%s\n", c->name, *err.text ? ": " : "", err.text);
    else if (st && st != WM_EINTERRUPTED)
        fprintf(stderr, "waymark %s: %s\n", c->name, *err.text ? err.text : wm_status_text(st));
    if (st && err.topic && !(st == WM_EINTERRUPTED && v->common.quiet))
        print_topic(&v->set, err.topic);
    if (st && wm_run_folder_staged(call.run) && !v->common.quiet)
        fprintf(stderr, "The run that it was to replace is as it was.\n");
    if (st == WM_EINTERRUPTED && call.run && !v->common.quiet)
        print_resume(v);
    if (st && call.usage)
        print_hint(v);
    if (st && st != WM_EINTERRUPTED)
        wm_run_folder_discard(call.run);
    else
        wm_run_folder_close(call.run);
    wm_summary_free(call.summary);
    if (st)
        return call.usage ? CLI_USAGE : CLI_FAILED;
    return call.doubt && v->common.strict ? CLI_DOUBT : CLI_DONE;
}

/* How many arguments "P [Q]" or "U V | FILE DX DY" allows. */
static void count_arguments(const char *usage, int *least, int *most)
{
    int needed = 0, all = 0;
    bool optional = false;

    *least = usage ? INT_MAX : 0;
    *most = 0;
    for (const char *p = usage; p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");

        if (n == 0 || *p == '|') { /* the end of one way to call it */
            *least = needed < *least ? needed : *least;
            *most = all > *most ? all : *most;
            needed = all = 0;
            if (n == 0)
                return;
        } else {
            optional = optional || *p == '[';
            needed += !optional;
            all++;
            optional = optional && p[n - 1] != ']';
        }
        p += n;
    }
}

/* Options, then once more if they say that a run is to be resumed: its settings are its own. */
static wm_status parse(invocation *v, int argc, const char *const *argv, wm_error *err)
{
    const cli_command *c = v->command;
    int least, most;
    wm_status st;

    start_options(v);
    if ((st = opt_parse(&v->set, argc, argv, NULL, err)) || v->set.help)
        return st;
    if (v->common.resume && v->common.overwrite)
        return opt_fail(err, "--resume and --overwrite exclude each other");
    if ((v->common.resume || v->common.overwrite || v->common.tensorboard) && !v->common.out)
        return opt_fail(err, "--%s needs the run folder, -o DIR",
                        v->common.resume      ? "resume"
                        : v->common.overwrite ? "overwrite"
                                              : "tensorboard");
    if (v->common.resume && !v->common.config) {
        char path[4096];

        if ((st = wm_run_folder_settings(path, sizeof path, v->common.out, err)))
            return st;
        if (*path) {
            start_options(v);
            if ((st = opt_parse(&v->set, argc, argv, path, err)))
                return st;
        }
    }
    count_arguments(c->arguments, &least, &most);
    if (v->set.n_args < least || v->set.n_args > most) {
        if (!c->arguments)
            return opt_fail(err, "takes no arguments, got '%.60s'", v->set.args[0]);
        return opt_fail(err, "takes %s, got %d argument%s", c->arguments, v->set.n_args,
                        v->set.n_args == 1 ? "" : "s");
    }
    return WM_OK;
}

static int invoke(const cli_command *const *table, wm_comm *comm, const cli_command *c, int argc,
                  const char *const *argv, bool help)
{
    invocation v = {.table = table, .command = c, .first = argc > 0 ? argv[0] : NULL, .comm = comm};
    wm_error err = {0};
    wm_status st;
    int code;

    v.opts = calloc(1, c->opts_size + 1);
    if (!v.opts) {
        fprintf(stderr, "waymark %s: no memory\n", c->name);
        return CLI_FAILED;
    }
    st = parse(&v, argc, argv, &err);
    if (help || (!st && v.set.help)) {
        print_command_help(&v, stdout);
        code = CLI_DONE;
    } else if (st) {
        fprintf(stderr, "waymark %s: %s\n", c->name, err.text);
        print_hint(&v);
        code = CLI_USAGE;
    } else {
        code = run_command(&v);
    }
    opt_free(&v.set);
    free(v.opts);
    return code;
}

/* --- finding the command -----------------------------------------------------------------------*/

/* The command named by the first words of argv, and how many words that takes; two go first. */
static const cli_command *find(const cli_command *const *table, int argc, const char *const *argv,
                               int *taken)
{
    char both[80] = "";

    if (argc > 1)
        snprintf(both, sizeof both, "%.38s %.38s", argv[0], argv[1]);
    for (*taken = 2; *taken >= 1; (*taken)--)
        for (int i = 0; table[i] && argc >= *taken; i++)
            if (strcmp(table[i]->name, *taken == 2 ? both : argv[0]) == 0)
                return table[i];
    return NULL;
}

static bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* `reproduce` alone, with a word that is none of its commands, or with --help; -1 if no command
 * begins with argv[0]. */
static int incomplete_command(const cli_command *const *table, int argc, const char *const *argv,
                              bool help)
{
    FILE *f = help ? stdout : stderr;
    char prefix[48], usage[160], word[48];

    snprintf(prefix, sizeof prefix, "%.40s ", argv[0]);
    snprintf(usage, sizeof usage, "Usage: waymark %sCOMMAND [options]\n\nCommands\n", prefix);
    if (!help && argc > 1) {
        const char *near = nearest_word(word, table, prefix, argv[1]);

        snprintf(usage, sizeof usage, "waymark %.40s: no '%.40s'%s%s%s one of these is needed:\n",
                 argv[0], argv[1], near ? ", did you mean '" : ";", near ? near : "",
                 near ? "'?" : "");
    }
    if (!print_list(table, prefix, usage, f))
        return -1;
    if (help)
        fprintf(f, "\n`waymark help %sCOMMAND` shows its options and examples.\n", prefix);
    return help ? CLI_DONE : CLI_USAGE;
}

static int unknown_command(const cli_command *const *table, const char *word)
{
    char name[48];
    const char *near = nearest_word(name, table, "", word);

    if (word[0] == '-') {
        fprintf(stderr,
                "waymark: %.60s: the command comes first, then its options\n"
                "`waymark help` lists the commands.\n",
                word);
        return CLI_USAGE;
    }
    fprintf(stderr, "waymark: no command '%.60s'%s%s%s\n`waymark help` lists them.\n", word,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    return CLI_USAGE;
}

static int dispatch(const cli_command *const *table, wm_comm *comm, int argc,
                    const char *const *argv)
{
    const bool help = argc > 0 && is_help(argv[0]);
    const cli_command *c;
    int taken, code;

    if (argc == 0) {
        print_help(table, stderr);
        return CLI_USAGE;
    }
    if (help && argc == 1) {
        print_help(table, stdout);
        return CLI_DONE;
    }
    if (strcmp(argv[0], "--version") == 0) {
        printf("waymark %s\n", wm_version());
        return CLI_DONE;
    }
    argc -= help;
    argv += help;
    c = find(table, argc, argv, &taken);
    if (c)
        return invoke(table, comm, c, argc - taken, argv + taken, help);
    code = incomplete_command(table, argc, argv, help ? argc == 1 : argc > 1 && is_help(argv[1]));
    return code >= 0 ? code : unknown_command(table, argv[0]);
}

bool cli_see_options(const cli_command *c, void (*see)(void *ctx, const opt_entry *e), void *ctx)
{
    invocation v = {.command = c};
    wm_error err;
    bool done;

    if (!(v.opts = calloc(1, c->opts_size + 1)))
        return false;
    start_options(&v);
    done = opt_parse(&v.set, 0, NULL, NULL, &err) == WM_OK;
    for (int i = 0; done && i < v.set.n_entries; i++)
        see(ctx, &v.set.entry[i]);
    opt_free(&v.set);
    free(v.opts);
    return done;
}

int cli_main(const cli_command *const *table, int argc, char **argv)
{
    wm_error err = {0};
    wm_comm *comm;
    int code = ranks_begin(&comm, &err);

    return code >= 0 ? code : ranks_end(comm, cli_run(table, comm, argc, argv));
}

int cli_run(const cli_command *const *table, wm_comm *comm, int argc, char **argv)
{
    int code = dispatch(table, comm, argc > 0 ? argc - 1 : 0, (const char *const *)argv + 1);

    /* A result that could not be written is no result: `waymark ... > /dev/full`. */
    if (fflush(stdout) || ferror(stdout)) {
        perror("waymark: standard output");
        code = CLI_FAILED;
    }
    return code;
}
