/* blas.c - the one file that knows cblas. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "engine/backend/blas.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <omp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/fail.h"
#include "waymark/version.h"

/* Dimensions beyond int would need 2^31 elements along one axis; the planner refuses such shapes
 * (WMI_MAX_DIM), so this is our mistake and not input. */
static int narrow(int64_t v)
{
    assert(v >= 0 && v <= INT_MAX);
    return (int)v;
}

static int leading(int64_t v) /* BLAS wants at least 1 even for empty matrices */
{
    return v > 0 ? narrow(v) : 1;
}

#define GEMM(name, cblas, real)                                                                    \
    void name(bool ta, bool tb, int64_t m, int64_t n, int64_t k, real alpha, const real *a,        \
              int64_t lda, const real *b, int64_t ldb, real beta, real *c, int64_t ldc)            \
    {                                                                                              \
        if (m == 0 || n == 0)                                                                      \
            return;                                                                                \
        cblas(CblasRowMajor, ta ? CblasTrans : CblasNoTrans, tb ? CblasTrans : CblasNoTrans,       \
              narrow(m), narrow(n), narrow(k), alpha, a, leading(lda), b, leading(ldb), beta, c,   \
              leading(ldc));                                                                       \
    }

/* Debian 12's OpenBLAS takes processors that came after it for the oldest it knows, whose products
 * are several times slower. Its choice is made when it is loaded, by an environment variable. */
const char *wm_blas_core(void)
{
#if defined(__x86_64__) && defined(__GNUC__)
    static const char *const old[] = {"Prescott", "Core2", "Nehalem", "Sandybridge"};
    const char *core = openblas_get_corename();

    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (core && strcmp(core, old[i]) == 0) {
            if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
                return "SkylakeX";
            if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
                return "Haswell";
        }
#endif
    return NULL;
}

/* OpenBLAS's own: a buffer of its pool, which grows and never shrinks. Where there is no memory it
 * tries again for ever. */
__attribute__((weak)) void *blas_memory_alloc(int position);
__attribute__((weak)) void blas_memory_free(void *buffer);

enum { BUFFER_MIB = 128, MAX_BUFFERS = 64 };

wm_status wm_blas_reserve(wm_error *err)
{
    const int threads = omp_get_max_threads(), cores = omp_get_num_procs();
    const int more = threads > cores ? threads - cores : 0; /* buffers of the threads' own */
    const size_t bytes = (size_t)(threads + more) * BUFFER_MIB << 20;
    void *room, *buffers[MAX_BUFFERS];
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return WM_OK;
    room = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return wmi_fail(err, WM_ENOMEM,
                        "the limit on memory (ulimit -v) leaves no room for linear algebra with %d "
                        "threads, which takes %d MiB more",
                        threads, (int)(bytes >> 20));
    munmap(room, bytes);
    for (int i = 0; i < threads && i < MAX_BUFFERS && blas_memory_alloc; i++)
        buffers[i] = blas_memory_alloc(0);
    for (int i = 0; i < threads && i < MAX_BUFFERS && blas_memory_alloc; i++)
        blas_memory_free(buffers[i]);
    return WM_OK;
}

GEMM(wmi_gemm_f32, cblas_sgemm, float)
GEMM(wmi_gemm_f64, cblas_dgemm, double)
