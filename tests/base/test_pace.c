/* test_pace.c - which number of threads a loop settles on, on machines that are made up. */
#include "asserts.h"

#include <omp.h>

#include "base/pace.h"

/* Seconds of a step of one second's work: `cores` of ours, of which `busy` serve another as well.
 * Threads meet several times a step, so that the slowest decides, and waits for its turn. */
typedef struct machine {
    int cores, busy;
} machine;

static double step_seconds(machine m, double work, int threads)
{
    const bool shares = threads > m.cores - m.busy;

    return work / threads * (shares ? 3 : 1);
}

typedef struct run {
    double time, steps;
    wmi_pace pace;
} run;

static void go(run *r, machine m, double work, double seconds)
{
    const double end = r->time + seconds;

    while (r->time < end) {
        const int now = r->pace.now ? r->pace.now : m.cores;
        const double t = step_seconds(m, work, now);
        const bool shares = now > m.cores - m.busy;

        r->time += t;
        r->steps += 1;
        wmi_pace_count(&r->pace, m.cores, r->time, t, shares ? (int64_t)(200 * t) + 1 : 0);
    }
}

static void an_idle_machine_is_used_whole(void **state)
{
    (void)state;
    for (int cores = 2; cores <= 64; cores *= 2) {
        run r = {.time = 5};

        go(&r, (machine){cores, 0}, 0.01, 30);
        assert_int_equal(r.pace.now, cores);
        assert_near(r.steps, 30 / (0.01 / cores), 2); /* and nothing was tried */
    }
}

/* Steps of 0.1 ms to 2 s: after some seconds nearly what one thread alone would do. */
static void beside_a_busy_core_fewer_are_used(void **state)
{
    static const double works[] = {1e-4, 4e-3, 0.1, 2};

    (void)state;
    for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
        run r = {.time = 5};
        double before;

        go(&r, (machine){2, 1}, works[i], 60);
        before = r.steps;
        go(&r, (machine){2, 1}, works[i], 200);
        assert_true((r.steps - before) * works[i] > 0.97 * 200);
        /* the other has gone: all cores again */
        go(&r, (machine){2, 0}, works[i], 300);
        assert_int_equal(r.pace.now, 2);
    }
}

static void of_many_cores_the_free_ones_are_used(void **state)
{
    run r = {.time = 5};
    double before;

    (void)state;
    go(&r, (machine){8, 2}, 0.004, 60);
    before = r.steps;
    go(&r, (machine){8, 2}, 0.004, 100);
    assert_true((r.steps - before) * 0.004 / 6 > 0.9 * 100);
}

/* The other rests for 0.1 s of every 0.35: what is won then does not pay for what follows. */
static void moments_of_rest_do_not_deceive(void **state)
{
    const double work = 0.004;
    run r = {.time = 5};
    double before = 0;

    (void)state;
    while (r.time < 300) {
        const machine m = {2, fmod(r.time, 0.35) > 0.1};

        go(&r, m, work, 0.001); /* one step */
        before = r.time < 100 ? r.steps : before;
    }
    assert_true((r.steps - before) * work > 0.95 * 200);
}

/* The first step finds OpenMP as it was, later ones the pace; outside nothing changes. */
static void steps_have_the_threads_of_the_pace(void **state)
{
    wmi_pace p = {0};
    const int before = omp_get_max_threads();

    (void)state;
    omp_set_num_threads(3);
    wmi_pace_begin(&p);
    assert_int_equal(omp_get_max_threads(), 3);
    wmi_pace_end(&p);
    p.now = 2;
    wmi_pace_begin(&p);
    assert_int_equal(omp_get_max_threads(), 2);
    wmi_pace_end(&p);
    assert_int_equal(omp_get_max_threads(), 3);
    omp_set_num_threads(before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_idle_machine_is_used_whole),
                                       cmocka_unit_test(beside_a_busy_core_fewer_are_used),
                                       cmocka_unit_test(of_many_cores_the_free_ones_are_used),
                                       cmocka_unit_test(moments_of_rest_do_not_deceive),
                                       cmocka_unit_test(steps_have_the_threads_of_the_pace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
