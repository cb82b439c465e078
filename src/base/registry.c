/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Name registry.
 *
 * A singly linked list of nodes that live inside the objects, under one lock.
 * Names are looked up when pipelines are put together, so a list is enough.
 *
 * An object is in one of three states:
 *   reserved   its name is taken, lookups do not find it (half-made)
 *   published  lookups find it and count references
 *   gone       retired or cancelled: not in the list
 * Lookup takes its reference under the lock under which retire looks at the
 * count, so nobody ever gets an object that is being destroyed.
 *
 * Fork: the child may find the lock held by a thread that does not exist there
 * and take it all the same (lock.c). So the list is consistent after every
 * single store: a node is complete before the one store that links it, and one
 * store unlinks it. A name that was only reserved in the parent's generation
 * belongs to a create that will never end in this process; it is free again.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "base/fork.h"
#include "base/registry.h"
#include "base/step.h"

/* Under the lock all loads are relaxed: the lock orders. */
static struct fpi_name *reg_load(fpi_atomic_ptr *link)
{
	return FPI_LOAD(link, FPI_MO(REG_LINK_LOAD, RELAXED));
}

/*
 * Release: whatever the node contains is there before the link, also in the
 * copy of memory that a fork takes between the two. Partner: a child's loads.
 */
static void reg_store(fpi_atomic_ptr *link, struct fpi_name *node)
{
	FPI_STEP(REG_STORE);
	FPI_STORE(link, (void *)node, FPI_MO(REG_LINK_STORE, RELEASE));
	FPI_STEP(REG_STORED);
}

/* Under the lock: the link that points to the node of this name, or NULL. */
static fpi_atomic_ptr *reg_find(struct fpi_registry *registry, const char *name)
{
	fpi_atomic_ptr *link = &registry->first;

	for (struct fpi_name *n; (n = reg_load(link)); link = &n->next)
		if (!strcmp(n->text, name))
			return link;
	return NULL;
}

/* Under the lock. */
static void reg_unlink(struct fpi_name *node)
{
	fpi_atomic_ptr *link = &node->registry->first;

	for (struct fpi_name *n; (n = reg_load(link)); link = &n->next)
		if (n == node) {
			reg_store(link, reg_load(&node->next));
			return;
		}
}

int fpi_registry_reserve(struct fpi_registry *registry, struct fpi_name *node,
			 const char *name, void *object)
{
	fpi_atomic_ptr *link;
	size_t length;
	int rc = 0;

	memset(node, 0, sizeof(*node));
	if (!name)
		return 0;
	if (!name[0])
		return -EINVAL;
	length = strnlen(name, LIBFP_NAME_MAX + 1);
	if (length > LIBFP_NAME_MAX)
		return -ENAMETOOLONG;
	if (fpi_fork_register())
		return -ENOMEM;
	memcpy(node->text, name, length);
	node->object = object;
	node->generation = fpi_fork_generation();

	fpi_lock_acquire(&registry->lock);
	FPI_STEP(REG_LOCKED);
	link = reg_find(registry, name);
	if (link) {
		struct fpi_name *other = reg_load(link);

		if (other->published || other->generation == node->generation)
			rc = -EEXIST;
		else
			reg_store(link, reg_load(&other->next));
	}
	if (!rc) {
		node->registry = registry;
		node->next.value = reg_load(&registry->first);
		reg_store(&registry->first, node);
	}
	fpi_lock_release(&registry->lock);
	return rc;
}

void fpi_registry_publish(struct fpi_name *node)
{
	if (!node->registry)
		return;
	fpi_lock_acquire(&node->registry->lock);
	node->published = 1;
	fpi_lock_release(&node->registry->lock);
}

void fpi_registry_cancel(struct fpi_name *node)
{
	struct fpi_registry *registry = node->registry;

	if (!registry)
		return;
	fpi_lock_acquire(&registry->lock);
	reg_unlink(node);
	node->registry = NULL;
	fpi_lock_release(&registry->lock);
}

int fpi_registry_lookup(struct fpi_registry *registry, const char *name, void **object)
{
	fpi_atomic_ptr *link;
	int rc = -ENOENT;

	if (!name || !object)
		return -EINVAL;
	fpi_lock_acquire(&registry->lock);
	link = reg_find(registry, name);
	if (link) {
		struct fpi_name *node = reg_load(link);

		if (node->published) {
			node->references++;
			*object = node->object;
			rc = 0;
		}
	}
	fpi_lock_release(&registry->lock);
	return rc;
}

int fpi_registry_unref(struct fpi_name *node)
{
	int rc = -EINVAL;

	if (!node->registry)
		return rc;
	fpi_lock_acquire(&node->registry->lock);
	if (node->references) {
		node->references--;
		rc = 0;
	}
	fpi_lock_release(&node->registry->lock);
	return rc;
}

int fpi_registry_referenced(struct fpi_name *node)
{
	struct fpi_registry *registry = node->registry;
	int referenced;

	if (!registry)
		return 0;
	fpi_lock_acquire(&registry->lock);
	referenced = node->references != 0;
	fpi_lock_release(&registry->lock);
	return referenced;
}

int fpi_registry_retire(struct fpi_name *node, int force)
{
	struct fpi_registry *registry = node->registry;
	int rc = -EBUSY;

	if (!registry)
		return 0;
	fpi_lock_acquire(&registry->lock);
	if (force || !node->references) {
		reg_unlink(node);
		node->registry = NULL;
		rc = 0;
	}
	fpi_lock_release(&registry->lock);
	return rc;
}

const char *fpi_registry_name(const struct fpi_name *node)
{
	return node->text[0] ? node->text : NULL;
}
