module hookyard.test/clients

go 1.21

require (
	github.com/segmentio/analytics-go/v3 v3.3.0
	hookyard.test/go120 v0.0.0
	hookyard.test/go200 v0.0.0
)

require (
	github.com/bmizerany/assert v0.0.0-20160611221934-b7ed37b82869 // indirect
	github.com/google/uuid v1.3.0 // indirect
	github.com/jehiah/go-strftime v0.0.0-20171201141054-1d33003b3869 // indirect
	github.com/kr/pretty v0.3.1 // indirect
	github.com/segmentio/backo-go v1.0.0 // indirect
	github.com/visionmedia/go-debug v0.0.0-20180109164601-bfacf9d8a444 // indirect
	github.com/xtgo/uuid v0.0.0-20140804021211-a0b114877d4c // indirect
)

// One program has several versions of one module, so the older ones need names of their own.
replace (
	hookyard.test/go120 v0.0.0 => github.com/segmentio/analytics-go v1.2.0
	hookyard.test/go200 v0.0.0 => github.com/segmentio/analytics-go v2.0.0+incompatible
)
