/* test_comm.c - ranks without MPI: a process on its own, and others that a transport of this file
 * pretends to have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "dist/comm.h"

/* ---- one process ---- */

static void alone_nothing_is_sent(void **state)
{
    float x[3] = {1, 2, 3};
    bool flag = false;
    wm_error err = {0};
    wm_status how = WM_EIO;

    (void)state;
    assert_int_equal(wm_comm_rank(NULL), 0);
    assert_int_equal(wm_comm_size(NULL), 1);
    assert_int_equal(wm_comm_local(NULL), 1);
    assert_int_equal(wmi_comm_own(NULL, 5), 5);
    assert_true(wmi_comm_owns(NULL, 4));
    assert_int_equal(wm_comm_broadcast(NULL, 0, x, sizeof x, &err), WM_OK);
    assert_int_equal(wm_comm_agree(NULL, WM_EINVAL, &err), WM_EINVAL);
    assert_int_equal(wmi_comm_tell(NULL, 0, &how, &err, &err), WM_OK);
    assert_int_equal(how, WM_EIO);
    assert_int_equal(wmi_comm_any(NULL, &flag, &err), WM_OK);
    assert_false(flag);
    assert_int_equal(wmi_comm_sum_work(NULL, 3), 0);
    assert_int_equal(wmi_comm_sum_f32(NULL, 1, 3, x, NULL, &err), WM_OK);
    assert_true(x[0] == 1 && x[2] == 3);
    assert_false(wm_comm_leave(NULL, true));
    wm_comm_set_limit(NULL, 1);
    wm_comm_close(NULL);
}

static void a_launcher_is_known_by_the_environment(void **state)
{
    wm_comm *comm;
    wm_error err = {0};

    (void)state;
    unsetenv("OMPI_COMM_WORLD_SIZE");
    unsetenv("PMI_SIZE");
    unsetenv("PMIX_RANK");
    assert_int_equal(wmi_comm_launched(), 1);
    assert_int_equal(wm_comm_open(&comm, &err), WM_OK);
    assert_null(comm);
    setenv("OMPI_COMM_WORLD_SIZE", "1", 1);
    assert_int_equal(wm_comm_open(&comm, &err), WM_OK);
    assert_null(comm); /* mpirun -n 1 needs no MPI */
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    assert_int_equal(wmi_comm_launched(), 4);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    setenv("SLURM_NTASKS", "8", 1); /* a batch script, not a step of srun */
    assert_int_equal(wmi_comm_launched(), 1);
    setenv("SLURM_STEP_ID", "0", 1);
    setenv("PMIX_RANK", "3", 1);
    assert_int_equal(wmi_comm_launched(), 8);
    unsetenv("SLURM_NTASKS");
    unsetenv("SLURM_STEP_ID");
    unsetenv("PMIX_RANK");
}

/* ---- others that are pretended ---- */

/* Rank 1 of 4. The others have the same vectors times 1, 10, 100 and 1000; rank 2 is silent when
 * `hangs` is set. */
static bool hangs;
static const char *failure;

static const char *fake_open(int *rank, int *size, int *local)
{
    *rank = 1;
    *size = 4;
    *local = 2;
    return failure;
}

static void fake_close(void)
{
}

static void fake_abort(int code)
{
    (void)code;
}

static const char *fake_broadcast(int root, void *data, size_t bytes)
{
    if (root != 1)
        memset(data, root, bytes);
    return NULL;
}

/* Others say the same as this rank. */
static const char *fake_gather(const void *own, void *all, size_t bytes)
{
    for (int r = 0; r < 4; r++)
        memcpy((char *)all + (size_t)r * bytes, own, bytes);
    return NULL;
}

static const char *fake_exchange(const void *to, void *from, size_t bytes)
{
    const float scale[] = {1, 10, 100, 1000};
    const size_t n = bytes / sizeof(float);

    for (size_t r = 0; r < 4; r++)
        for (size_t i = 0; i < n; i++)
            ((float *)from)[r * n + i] = scale[r] * ((const float *)to)[n + i]; /* our slice */
    return NULL;
}

static const char *fake_leave(void)
{
    return NULL;
}

static const char *fake_test(int *done)
{
    *done = !hangs;
    return NULL;
}

static const char *fake_roll_call(double seconds, unsigned char *here)
{
    (void)seconds;
    memset(here, 1, 4);
    here[2] = 0;
    return NULL;
}

static wmi_transport fake = {
    WMI_TRANSPORT_VERSION, fake_open,     fake_close, fake_abort, fake_broadcast,
    fake_gather,           fake_exchange, fake_leave, fake_test,  fake_roll_call};

static wm_comm *open_fake(void)
{
    wm_comm *comm;

    hangs = false;
    failure = NULL;
    assert_int_equal(wmi_comm_by(&comm, &fake, NULL), WM_OK);
    return comm;
}

static void tasks_are_shared_out(void **state)
{
    wm_comm *comm = open_fake();

    (void)state;
    assert_int_equal(wm_comm_rank(comm), 1);
    assert_int_equal(wm_comm_local(comm), 2);
    assert_int_equal(wmi_comm_own(comm, 5), 1); /* 1 */
    assert_int_equal(wmi_comm_own(comm, 6), 2); /* 1, 5 */
    assert_int_equal(wmi_comm_own(comm, 1), 0);
    assert_int_equal(wmi_comm_owner(comm, 5), 1);
    assert_int_equal(wmi_comm_part(comm, 10, 1), 2);
    assert_int_equal(wmi_comm_part(comm, 10, 4), 10);
    wm_comm_close(comm);
}

static void slices_are_summed_and_gathered(void **state)
{
    wm_comm *comm = open_fake();
    float x[7] = {1, 2, 3, 4, 5, 6, 7}, work[16];

    (void)state;
    assert_int_equal(wmi_comm_sum_work(comm, 7), 16);
    assert_int_equal(wmi_comm_sum_f32(comm, 4, 7, x, work, NULL), WM_OK);
    /* Ours are elements 2 and 3; the pretended others return our slice as theirs. */
    assert_true(x[2] == 3333 && x[3] == 4444 && x[0] == 3333 && x[6] == 3333);
    for (int i = 0; i < 7; i++)
        x[i] = (float)(i + 1);
    assert_int_equal(wmi_comm_sum_f32(comm, 2, 7, x, work, NULL), WM_OK);
    assert_true(x[2] == 33 && x[3] == 44); /* two ranks have a term */
    wm_comm_close(comm);
}

static void a_rank_that_hangs_is_named(void **state)
{
    wm_comm *comm = open_fake();
    wm_error err = {0};
    char byte = 0;

    (void)state;
    hangs = true;
    wm_comm_set_limit(comm, 0.01);
    assert_int_equal(wm_comm_broadcast(comm, 0, &byte, 1, &err), WM_EIO);
    assert_non_null(strstr(err.text, "no word from rank 2 for 0.01 s"));
    assert_string_equal(err.topic, "rank-limit");
    assert_true(wm_comm_leave(comm, true)); /* what was given up cannot be waited for again */
    wm_comm_close(comm);
}

static void a_failure_is_told_with_its_words(void **state)
{
    wm_comm *comm = open_fake();
    wm_error err = {0};
    wm_status how = wmi_about(wmi_fail(&err, WM_EDIVERGED, "bridge %d", 3), &err, "lr");

    (void)state;
    assert_int_equal(wm_comm_agree(comm, how, &err), WM_EDIVERGED);
    assert_string_equal(err.text, "bridge 3");
    assert_string_equal(err.topic, "lr");
    assert_int_equal(wmi_comm_tell(comm, 1, &how, &err, NULL), WM_OK);
    assert_int_equal(how, WM_EDIVERGED);
    assert_int_equal(wmi_comm_tell(comm, 0, &how, &err, NULL), WM_OK);
    assert_int_equal(how, WM_OK); /* zeros came */
    wm_comm_close(comm);
}

static void a_transport_may_fail(void **state)
{
    wm_comm *comm;
    wm_error err = {0};

    (void)state;
    failure = "no network";
    assert_int_equal(wmi_comm_by(&comm, &fake, &err), WM_EIO);
    assert_non_null(strstr(err.text, "no network"));
    assert_null(comm);
    fake.version++;
    assert_int_equal(wmi_comm_by(&comm, &fake, &err), WM_EUNSUPPORTED);
    fake.version--;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_nothing_is_sent),
        cmocka_unit_test(a_launcher_is_known_by_the_environment),
        cmocka_unit_test(tasks_are_shared_out),
        cmocka_unit_test(slices_are_summed_and_gathered),
        cmocka_unit_test(a_rank_that_hangs_is_named),
        cmocka_unit_test(a_failure_is_told_with_its_words),
        cmocka_unit_test(a_transport_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
