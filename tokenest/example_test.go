package tokenest_test

import (
	"fmt"
	"strings"

	"github.com/eino-toolresult/toolresult/tokenest"
)

func ExampleEstimator() {
	e := tokenest.O200K()
	id := "9f0c2a4e-58d1-4b6f-8c37-1d2e3f405162"
	fmt.Println("estimate:", e.Estimate(id), "four bytes a token:", (len(id)+3)/4)

	huge := strings.Repeat(id+"\n", 1_000_000)
	fmt.Println("over 20000 tokens:", e.Exceeds(huge, 20_000))
	// Output:
	// estimate: 30 four bytes a token: 9
	// over 20000 tokens: true
}

func ExampleMeter() {
	m := tokenest.Claude().Meter()
	for _, chunk := range []string{"The locker hol", "ds the parcel; the mo", "del gets the ticket."} {
		m.WriteString(chunk)
		fmt.Println(m.Tokens(), m.Exceeds(8))
	}
	// Output:
	// 3 false
	// 8 false
	// 11 true
}
