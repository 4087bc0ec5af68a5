// Eight goroutines that fight for one sync.Mutex: "long" while its holder
// sleeps, "short" while it computes for so short a time that two of them on two
// CPUs meet all the time.
package main

import (
	"fmt"
	"os"
	"sync"
	"time"
)

var (
	mutex sync.Mutex
	sum   int
)

func main() {
	long := len(os.Args) > 1 && os.Args[1] == "long"
	for number := 0; number < 8; number++ {
		go fight(long)
	}
	fmt.Println("ready")
	select {}
}

func fight(long bool) {
	for {
		mutex.Lock()
		if long {
			time.Sleep(100 * time.Millisecond)
		} else {
			for step := 0; step < 20; step++ {
				sum += step
			}
		}
		mutex.Unlock()
	}
}
