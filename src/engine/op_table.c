/* op_table.c - the six builds of every op (two dtypes, three instruction sets), and the choice. */
#include "engine/op_table.h"

#include <string.h>

#define OP(name, file) extern const wmi_op_def wmi_op_##name##_f32_base, wmi_op_##name##_f64_base;
#include "engine/op_list.def"
#undef OP
#ifdef WMI_HAVE_AVX2
#define OP(name, file) extern const wmi_op_def wmi_op_##name##_f32_avx2, wmi_op_##name##_f64_avx2;
#include "engine/op_list.def"
#undef OP
#endif
#ifdef WMI_HAVE_AVX512
#define OP(name, file)                                                                             \
    extern const wmi_op_def wmi_op_##name##_f32_avx512, wmi_op_##name##_f64_avx512;
#include "engine/op_list.def"
#undef OP
#endif

enum {
    N_OPS = 0
#define OP(name, file) +1
#include "engine/op_list.def"
#undef OP
};

static const wmi_op_def *const table[WMI_ISA_COUNT][2][N_OPS] = {
    [WMI_ISA_BASE] = {{
#define OP(name, file) &wmi_op_##name##_f32_base,
#include "engine/op_list.def"
#undef OP
                      },
                      {
#define OP(name, file) &wmi_op_##name##_f64_base,
#include "engine/op_list.def"
#undef OP
                      }},
#ifdef WMI_HAVE_AVX2
    [WMI_ISA_AVX2] = {{
#define OP(name, file) &wmi_op_##name##_f32_avx2,
#include "engine/op_list.def"
#undef OP
                      },
                      {
#define OP(name, file) &wmi_op_##name##_f64_avx2,
#include "engine/op_list.def"
#undef OP
                      }},
#endif
#ifdef WMI_HAVE_AVX512
    [WMI_ISA_AVX512] = {{
#define OP(name, file) &wmi_op_##name##_f32_avx512,
#include "engine/op_list.def"
#undef OP
                        },
                        {
#define OP(name, file) &wmi_op_##name##_f64_avx512,
#include "engine/op_list.def"
#undef OP
                        }},
#endif
};

bool wmi_isa_usable(wmi_isa isa)
{
    if (!table[isa][0][0])
        return false;
    switch (isa) {
    case WMI_ISA_BASE:
        return true;
#if defined(__x86_64__)
    case WMI_ISA_AVX2:
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case WMI_ISA_AVX512:
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
#endif
    default:
        return false;
    }
}

wmi_isa wmi_isa_best(void)
{
    for (int isa = WMI_ISA_COUNT - 1; isa > WMI_ISA_BASE; isa--)
        if (wmi_isa_usable((wmi_isa)isa))
            return (wmi_isa)isa;
    return WMI_ISA_BASE;
}

const char *wmi_isa_name(wmi_isa isa)
{
    static const char *const names[WMI_ISA_COUNT] = {"base", "avx2", "avx512"};

    return names[isa];
}

const wmi_op_def *wmi_op_find(const char *name, wmi_dtype dtype, wmi_isa isa)
{
    for (int i = 0; i < N_OPS; i++) {
        const wmi_op_def *def = table[isa][dtype == WMI_F64][i];

        if (def && strcmp(def->name, name) == 0)
            return def;
    }
    return NULL;
}
