// Loads a program, calls it from several goroutines, each with a session of its own, and prints what it gives.
//
//	go build && ./run ../classifier.pt
//
// A session belongs to an operating system's thread: a goroutine that has one is locked to its thread.
package main

/*
#cgo pkg-config: sconce
#include <sconce.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"
)

func check(failed *C.sconce_error) error {
	if failed == nil {
		return nil
	}
	defer C.sconce_error_delete(failed)
	return errors.New(C.GoString(C.sconce_error_message(failed)))
}

// forward calls the method in a session of its own. The numbers are copied to memory of C's, which may not move.
func forward(module *C.sconce_module, numbers []float32, sizes []int64) ([]float32, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var session *C.sconce_session
	if err := check(C.sconce_session_new(module, nil, &session)); err != nil {
		return nil, err
	}
	defer C.sconce_session_delete(session)

	bytes := C.size_t(len(numbers) * 4)
	memory := C.malloc(bytes)
	defer C.free(memory)
	copy(unsafe.Slice((*float32)(memory), len(numbers)), numbers)
	var tensor *C.sconce_tensor
	dims := (*C.int64_t)(unsafe.Pointer(&sizes[0]))
	if err := check(C.sconce_tensor_from_blob(memory, C.SCONCE_FLOAT32, dims, nil, C.size_t(len(sizes)), nil, nil, &tensor)); err != nil {
		return nil, err
	}
	arg := C.sconce_value_tensor(tensor)
	defer C.sconce_value_delete(arg)

	method := C.CString("forward")
	defer C.free(unsafe.Pointer(method))
	args := (**C.sconce_value)(C.malloc(C.size_t(unsafe.Sizeof(arg))))
	defer C.free(unsafe.Pointer(args))
	*args = arg
	var result *C.sconce_value
	if err := check(C.sconce_session_call(session, method, args, 1, nil, &result)); err != nil {
		return nil, err
	}
	defer C.sconce_value_delete(result)

	given := C.sconce_value_as_tensor(result)
	if given == nil {
		return nil, errors.New("the result is not a tensor")
	}
	count := 1
	for _, size := range unsafe.Slice((*int64)(unsafe.Pointer(C.sconce_tensor_sizes(given))), C.sconce_tensor_ndim(given)) {
		count *= int(size)
	}
	out := make([]float32, count)
	return out, check(C.sconce_tensor_copy_to(given, unsafe.Pointer(&out[0]), C.size_t(4*count), C.SCONCE_FLOAT32))
}

func run(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var module *C.sconce_module
	if err := check(C.sconce_module_load(name, &module)); err != nil {
		return err
	}
	defer C.sconce_module_delete(module)
	const workers = 4
	results, failures := make([][]float32, workers), make([]error, workers)
	var done sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		done.Add(1)
		go func(worker int) {
			defer done.Done()
			numbers := make([]float32, 8)
			for at := range numbers {
				numbers[at] = float32(worker) - float32(at)/4
			}
			results[worker], failures[worker] = forward(module, numbers, []int64{1, 8})
		}(worker)
	}
	done.Wait()
	for worker, result := range results {
		if failures[worker] != nil {
			return failures[worker]
		}
		words := make([]string, len(result))
		for at, number := range result {
			words[at] = fmt.Sprintf("%.6f", number)
		}
		fmt.Println(strings.Join(words, " "))
	}
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: run FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
