/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Java brings to libfp.i: FpException, arrays of byte, int or long as tables of
 * elements, and buffers of objects. Elements are in the machine's order; the array's
 * length says how many.
 *
 * An array is entered (GetPrimitiveArrayCritical: not copied) as the last thing before
 * the call and left first thing after it, so nothing may fail in between.
 */
%pragma(java) jniclasscode=%{
    static {
        System.loadLibrary("Libfp");
    }
%}

%{
#define FP_JAVA_BAD (-1)

/* Bytes of an array's contents; FP_JAVA_BAD for NULL and what is no such array. */
static jlong fp_java_bytes(JNIEnv *env, jobject array)
{
	static const struct {
		const char *type;
		jlong width;
	} types[] = { { "[J", 8 }, { "[B", 1 }, { "[I", 4 } };
	static _Atomic(jclass) classes[3];

	for (int i = 0; array && i < 3; i++) {
		jclass type = classes[i];

		if (!type) {
			jclass found = (*env)->FindClass(env, types[i].type);

			/* Two threads may both get here: one reference too many, no harm. */
			type = (*env)->NewGlobalRef(env, found);
			classes[i] = type;
		}
		if ((*env)->IsInstanceOf(env, array, type))
			return (*env)->GetArrayLength(env, array) * types[i].width;
	}
	return FP_JAVA_BAD;
}

static void fp_java_throw(JNIEnv *env, int status)
{
	jclass type = (*env)->FindClass(env, "libfp/FpException");
	jmethodID make = type ? (*env)->GetMethodID(env, type, "<init>",
						    "(ILjava/lang/String;)V") : NULL;
	jstring text = make ? (*env)->NewStringUTF(env, fp_strerror(status)) : NULL;
	jobject exception = text ? (*env)->NewObject(env, type, make, -status, text) : NULL;

	if (exception) /* else the JVM has thrown what was in the way */
		(*env)->Throw(env, exception);
}
%}

%define FP_FAIL(STATUS)
{
	fp_java_throw(jenv, STATUS);
	return $null;
}
%enddef
%define FP_FAIL_LAST(STATUS)
FP_FAIL(STATUS)
%enddef

/* ---- numbers: 64 bits are a long, whatever the sign; 32 unsigned bits fit one ---- */

%apply long long { uint64_t, unsigned long long };
%typemap(in) unsigned int {
	if ($input < 0 || $input > (jlong)UINT32_MAX)
		FP_FAIL(-EINVAL)
	$1 = (unsigned int)$input;
}
%javaconst(1);

/* ---- arrays ---- */

%define FP_JAVA_ARRAY(PARAMETERS)
%typemap(jni) PARAMETERS "jobject"
%typemap(jtype) PARAMETERS "Object"
%typemap(jstype) PARAMETERS "Object"
%typemap(javain) PARAMETERS "$javainput"
%enddef

/* A table: as many elements as fill the array. */
%define FP_JAVA_TABLE(POINTER, COUNT, MODE)
FP_JAVA_ARRAY((POINTER, COUNT))
%typemap(in) (POINTER, COUNT) (jlong bytes) {
	bytes = fp_java_bytes(jenv, $input);
	$1 = NULL;
	$2 = 0;
}
%typemap(check) (POINTER, COUNT) {
	jlong size = FP_SWIG_ELEM_SIZE(arg1, $1);

	if (bytes$argnum < 0 || !size || bytes$argnum % size)
		FP_FAIL(-EINVAL)
	$2 = (uint32_t)(bytes$argnum / size);
	$1 = ($1_ltype)(*jenv)->GetPrimitiveArrayCritical(jenv, $input, NULL);
	if (!$1)
		return $null;
}
%typemap(freearg) (POINTER, COUNT) {
	(*jenv)->ReleasePrimitiveArrayCritical(jenv, $input, (void *)$1, MODE);
}
%enddef
FP_JAVA_TABLE(const void *elems, uint32_t n, JNI_ABORT)
FP_JAVA_TABLE(void *elems, uint32_t n, 0)

/*
 * Tables of words, of which a call has several: what they are is looked at before the first
 * of them is entered. One that is NULL although it has a length is refused by the call.
 */
%define FP_JAVA_WORDS(POINTER, COUNT, MAY_BE_NULL, MODE)
FP_JAVA_ARRAY((POINTER, COUNT))
%typemap(in) (POINTER, COUNT) {
	jlong bytes = MAY_BE_NULL && !$input ? 0 : fp_java_bytes(jenv, $input);

	if (bytes < 0 || bytes % (jlong)sizeof(*$1))
		FP_FAIL(-EINVAL)
	$1 = NULL;
	$2 = (uint32_t)(bytes / (jlong)sizeof(*$1));
}
%typemap(check) (POINTER, COUNT) {
	if ($input)
		$1 = ($1_ltype)(*jenv)->GetPrimitiveArrayCritical(jenv, $input, NULL);
}
%typemap(freearg) (POINTER, COUNT) {
	if ($1)
		(*jenv)->ReleasePrimitiveArrayCritical(jenv, $input, (void *)$1, MODE);
}
%enddef
#define FP_WORDS
FP_JAVA_WORDS(const fp_swig_word *ids, uint32_t n, 0, JNI_ABORT)
FP_JAVA_WORDS(const fp_swig_word *users, uint32_t n_users, 1, JNI_ABORT)
FP_JAVA_WORDS(const fp_swig_word *expiry_ticks, uint32_t n_ticks, 0, JNI_ABORT)
FP_JAVA_WORDS(uint64_t *ids, uint32_t n, 0, 0)
FP_JAVA_WORDS(int32_t *results, uint32_t n_results, 1, 0)

/* One element: an array of exactly its size. */
%define FP_JAVA_ELEMENT(POINTER, MODE)
FP_JAVA_ARRAY(POINTER)
%typemap(in) POINTER (jlong bytes) {
	bytes = fp_java_bytes(jenv, $input);
	$1 = NULL;
}
%typemap(check) POINTER {
	if (bytes$argnum < 0 || bytes$argnum != FP_SWIG_ELEM_SIZE(arg1, $1))
		FP_FAIL(-EINVAL)
	$1 = ($1_ltype)(*jenv)->GetPrimitiveArrayCritical(jenv, $input, NULL);
	if (!$1)
		return $null;
}
%typemap(freearg) POINTER {
	(*jenv)->ReleasePrimitiveArrayCritical(jenv, $input, (void *)$1, MODE);
}
%typemap(argout) POINTER ""
%enddef
FP_JAVA_ELEMENT(const void *elem, JNI_ABORT)
FP_JAVA_ELEMENT(void *elem, 0)
FP_JAVA_ELEMENT(uint64_t *elem, 0)

/* ---- the memory of a pool's object, in place ---- */

%{
typedef struct fp_java_memory {
	void *at;
	jlong bytes;
} fp_java_memory;
%}

%typemap(jni) fp_java_memory "jobject"
%typemap(jtype) fp_java_memory "java.nio.ByteBuffer"
%typemap(jstype) fp_java_memory "java.nio.ByteBuffer"
%typemap(javaout) fp_java_memory {
    return $jnicall.order(java.nio.ByteOrder.nativeOrder());
}
%typemap(out) fp_java_memory {
	$result = $1.at ? (*jenv)->NewDirectByteBuffer(jenv, $1.at, $1.bytes) : NULL;
}

%extend fp_mempool {
	static fp_java_memory buffer(const fp_mempool *pool, void *object, int *status)
	{
		fp_java_memory memory = { NULL, fp_mempool_object_size(pool) };

		memory.at = fp_swig_memory(pool, object, 0, 0);
		*status = memory.at ? 0 : -EINVAL;
		return memory;
	}
}
