// SPDX-License-Identifier: BSD-2-Clause

// The check of the library's version: by numbers, and with a library that says another one.

package fp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestVersion(t *testing.T) {
	if !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(Version()) {
		t.Error("Version:", Version())
	}
	if Features()&FeatureRing == 0 {
		t.Error("no rings in this library")
	}
	for number, fits := range map[uint32]bool{
		VersionNumber:       true,
		VersionNumber ^ 1:   true, // another patch
		VersionNumber + 256: VersionMajor > 0,
		VersionNumber - 256: false,
		1<<24 | 9<<8:        false,
	} {
		err := checkVersion(number)
		if (err == nil) != fits {
			t.Errorf("library %#x: %v", number, err)
		}
		if err != nil {
			wantErr(t, "checkVersion", err, ErrNotSupported)
		}
	}
}

// The generated constants and the check in the preprocessor are of one version.
func TestHeaderCheckIsOfThisVersion(t *testing.T) {
	shim, err := os.ReadFile("shim.h")
	if err != nil {
		t.Fatal(err)
	}
	numbers := regexp.MustCompile(`LIBFP_VERSION_ENCODE\((\d+), (\d+), 0\)`).FindAllSubmatch(shim, -1)
	if len(numbers) != 2 {
		t.Fatal("shim.h compares with", len(numbers), "versions")
	}
	for i, number := range numbers {
		want(t, "major", string(number[1]), fmt.Sprint(VersionMajor))
		want(t, "minor", string(number[2]), fmt.Sprint(VersionMinor+i))
	}
}

// A preloaded library answers the question for the version in this one's place.
func TestALibraryOfAnotherVersion(t *testing.T) {
	const other = "LIBFP_TEST_OTHER_VERSION"
	if os.Getenv(other) != "" {
		_, err := NewRing(RingOptions{Capacity: 1})
		fmt.Println(err)
		_, err = LookupRing("any")
		fmt.Println(err)
		_, err = NewPool(PoolOptions{Count: 1, ObjectSize: 1})
		fmt.Println(err)
		_, err = LookupPool("any")
		fmt.Println(err)
		_, err = NewWakeup(WakeupOptions{})
		fmt.Println(err)
		_, err = NewService(ServiceOptions{Run: func() (bool, error) { return false, nil }})
		fmt.Println(err)
		_, err = NewServiceCore(ServiceCoreOptions{})
		fmt.Println(err)
		_, err = NewWheel(WheelOptions{})
		fmt.Println(err)
		_, err = LookupWheel("any")
		fmt.Println(err)
		_, err = LookupService("any")
		fmt.Println(err)
		_, err = LookupServiceCore("any")
		fmt.Println(err)
		_, err = ListServices()
		fmt.Println(err)
		_, err = ListServiceCores()
		fmt.Println(err)
		os.Exit(0)
	}
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	source := filepath.Join(t.TempDir(), "other.c")
	library := strings.TrimSuffix(source, "c") + "so"
	number := (VersionMajor+1)<<16 | 7<<8
	text := fmt.Sprintf("unsigned fp_version_number(void) { return %d; }\n", number)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", cc, err, out)
	}
	again := exec.Command(os.Args[0], "-test.run", "TestALibraryOfAnotherVersion")
	again.Env = append(os.Environ(), other+"=1", "LD_PRELOAD="+library)
	out, err := again.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	message := fmt.Sprintf("this package needs libfp %d.%d, the library that runs is %d.7",
		VersionMajor, VersionMinor, VersionMajor+1)
	if strings.Count(string(out), message) != 13 {
		t.Errorf("got %q, want %q 13 times", out, message)
	}
}
