/* test_gemm_kernel.c - the micro-kernel behind convolutions and quadratic forms, in every build,
 * against sums in double.
 */
#include <stdbool.h>
#include <stdlib.h>

#include "asserts.h"
#include "engine/op_table.h"

static double uniform(void) /* on [-1, 1] */
{
    static uint64_t s = 1;

    s = s * 6364136223846793005u + 1442695040888963407u;
    return (double)(s >> 40) / (double)(1 << 23) - 1;
}

#define REAL float
#define ULP 0x1p-24
#define BUILD f32_base
#include "gemm_cases.h"
#undef BUILD
#ifdef WMI_HAVE_AVX2
#define BUILD f32_avx2
#include "gemm_cases.h"
#undef BUILD
#endif
#ifdef WMI_HAVE_AVX512
#define BUILD f32_avx512
#include "gemm_cases.h"
#undef BUILD
#endif
#undef REAL
#undef ULP

#define REAL double
#define ULP 0x1p-53
#define BUILD f64_base
#include "gemm_cases.h"
#undef BUILD
#ifdef WMI_HAVE_AVX2
#define BUILD f64_avx2
#include "gemm_cases.h"
#undef BUILD
#endif
#ifdef WMI_HAVE_AVX512
#define BUILD f64_avx512
#include "gemm_cases.h"
#undef BUILD
#endif

static const struct {
    wmi_isa isa;
    void (*all)(void), (*bits)(void), (*windows)(void), (*threads)(void);
} builds[] = {
    {WMI_ISA_BASE, all_f32_base, bits_f32_base, windows_f32_base, threads_f32_base},
    {WMI_ISA_BASE, all_f64_base, bits_f64_base, windows_f64_base, threads_f64_base},
#ifdef WMI_HAVE_AVX2
    {WMI_ISA_AVX2, all_f32_avx2, bits_f32_avx2, windows_f32_avx2, threads_f32_avx2},
    {WMI_ISA_AVX2, all_f64_avx2, bits_f64_avx2, windows_f64_avx2, threads_f64_avx2},
#endif
#ifdef WMI_HAVE_AVX512
    {WMI_ISA_AVX512, all_f32_avx512, bits_f32_avx512, windows_f32_avx512, threads_f32_avx512},
    {WMI_ISA_AVX512, all_f64_avx512, bits_f64_avx512, windows_f64_avx512, threads_f64_avx512},
#endif
};

static void products_agree_with_plain_sums(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        if (wmi_isa_usable(builds[i].isa))
            builds[i].all();
}

static void bits_do_not_depend_on_blocking(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        if (wmi_isa_usable(builds[i].isa))
            builds[i].bits();
}

static void windows_agree_with_gathered_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        if (wmi_isa_usable(builds[i].isa))
            builds[i].windows();
}

static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++)
        if (wmi_isa_usable(builds[i].isa))
            builds[i].threads();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_agree_with_plain_sums),
                                       cmocka_unit_test(bits_do_not_depend_on_blocking),
                                       cmocka_unit_test(windows_agree_with_gathered_rows),
                                       cmocka_unit_test(bits_do_not_depend_on_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
