/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stands in for the system's <stdint.h> while the public headers are parsed,
 * so that the result does not depend on the C library of this machine.
 */
#ifndef ABIGEN_STDINT_H
#define ABIGEN_STDINT_H

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;

#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INT64_MAX 9223372036854775807L
#define UINT64_MAX 18446744073709551615UL

#endif
