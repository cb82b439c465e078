/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What other parts of the library use of services: the public functions under names of the
 * library's own, so that a call does not go by way of the loader, which may know another
 * copy of the library.
 */
#ifndef FPI_SERVICE_SERVICE_H
#define FPI_SERVICE_SERVICE_H

#include <libfp/service.h>

int fpi_service_create(const fp_service_opts *opts, fp_service **out);
int fpi_service_destroy(fp_service *service, uint32_t flags, uint64_t timeout_ns);
int fpi_service_set_deadline(fp_service *service, uint64_t deadline_ns);
fp_wakeup *fpi_service_wakeup(fp_service *service);

#endif
