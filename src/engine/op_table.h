/* op_table.h - finding an operation by name for a dtype, in the best build that the processor runs.
 */
#ifndef WMI_ENGINE_OP_TABLE_H
#define WMI_ENGINE_OP_TABLE_H

#include "engine/op.h"

typedef enum wmi_isa { WMI_ISA_BASE, WMI_ISA_AVX2, WMI_ISA_AVX512, WMI_ISA_COUNT } wmi_isa;

bool wmi_isa_usable(wmi_isa isa); /* built in, and this processor has it */
wmi_isa wmi_isa_best(void);
const char *wmi_isa_name(wmi_isa isa);
/* NULL for an unknown name or an isa that is not built in. */
const wmi_op_def *wmi_op_find(const char *name, wmi_dtype dtype, wmi_isa isa);

#endif
