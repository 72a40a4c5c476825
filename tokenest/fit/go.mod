module github.com/eino-toolresult/toolresult/tokenest/fit

go 1.25.0

require github.com/eino-toolresult/toolresult v0.0.0

replace github.com/eino-toolresult/toolresult => ../../
