// Program that uses franz-go as its users do, for tests: produce, consume, a member of a group, administration.
// What it prints is told with each function; an error ends it with code 1.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const deadline = 60 * time.Second

var codecs = map[string]kgo.CompressionCodec{
	"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
	"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*deadline)
	defer cancel()
	calls := map[string]func(context.Context, kgo.Opt, []string) error{
		"produce": produce, "consume": consume, "member": member, "admin": admin,
		"transaction": transaction,
	}
	seeds := kgo.SeedBrokers(strings.Split(os.Args[2], ",")...)
	if err := calls[os.Args[1]](ctx, seeds, os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TOPIC CODEC COUNT: writes CODEC-0, CODEC-1 … to partition 0, idempotently, as the client does by default.
func produce(ctx context.Context, seeds kgo.Opt, args []string) error {
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	client, err := kgo.NewClient(seeds, kgo.ProducerBatchCompression(codecs[args[1]]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.AllowAutoTopicCreation())
	if err != nil {
		return err
	}
	defer client.Close()
	records := make([]*kgo.Record, count)
	for i := range records {
		value := fmt.Sprintf("%s-%d", args[1], i)
		records[i] = &kgo.Record{Topic: args[0], Key: []byte("k"), Value: []byte(value),
			Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("x")}}}
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

// TOPIC COUNT START: prints offset, key, value and headers of COUNT records of partition 0, from an
// offset or, with @, from a time in milliseconds.
func consume(ctx context.Context, seeds kgo.Opt, args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	start, err := strconv.ParseInt(strings.TrimPrefix(args[2], "@"), 10, 64)
	if err != nil {
		return err
	}
	at := kgo.NewOffset().At(start)
	if strings.HasPrefix(args[2], "@") {
		at = kgo.NewOffset().AfterMilli(start)
	}
	client, err := kgo.NewClient(seeds, kgo.ConsumePartitions(
		map[string]map[int32]kgo.Offset{args[0]: {0: at}}))
	if err != nil {
		return err
	}
	defer client.Close()
	for count > 0 {
		fetches := client.PollRecords(ctx, count)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, one := range fetches.Records() {
			fmt.Println(one.Offset, string(one.Key), string(one.Value), one.Headers[0].Key)
			count--
		}
	}
	return nil
}

// owned is what a member has been assigned.
type owned struct {
	sync.Mutex
	partitions []int32
}

func (o *owned) change(gains, losses []int32) {
	o.Lock()
	defer o.Unlock()
	o.partitions = slices.DeleteFunc(o.partitions, func(p int32) bool { return slices.Contains(losses, p) })
	o.partitions = append(o.partitions, gains...)
	slices.Sort(o.partitions)
	fmt.Println("owned", strings.Trim(fmt.Sprint(o.partitions), "[]"))
}

// GROUP TOPIC STRATEGY [INSTANCE]: prints "owned" with its partitions whenever they change, and "value" with each
// value once it is committed, until its input ends.
func member(ctx context.Context, seeds kgo.Opt, args []string) error {
	var held owned
	group, topic, strategy := args[0], args[1], args[2]
	changed := func(gains, losses map[string][]int32) { held.change(gains[topic], losses[topic]) }
	options := []kgo.Opt{seeds, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(10 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, gains map[string][]int32) { changed(gains, nil) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, losses map[string][]int32) { changed(nil, losses) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, losses map[string][]int32) { changed(nil, losses) }),
	}
	switch strategy {
	case "range":
		options = append(options, kgo.Balancers(kgo.RangeBalancer()))
	case "roundrobin":
		options = append(options, kgo.Balancers(kgo.RoundRobinBalancer()))
	case "sticky":
		options = append(options, kgo.Balancers(kgo.StickyBalancer()))
	case "cooperative-sticky":
		options = append(options, kgo.Balancers(kgo.CooperativeStickyBalancer()))
	case "consumer":
		options = append(options, kgo.Balancers(kgo.StickyBalancer()), kgo.ServerSideBalancer())
	default:
		return fmt.Errorf("unknown strategy %q", strategy)
	}
	if len(args) > 3 {
		options = append(options, kgo.InstanceID(args[3]))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	go func() {
		bufio.NewReader(os.Stdin).ReadString(0)
		stop()
	}()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if records := fetches.Records(); len(records) > 0 {
			if err := client.CommitRecords(context.Background(), records...); err != nil {
				return err
			}
			for _, one := range records {
				fmt.Println("value", string(one.Value))
			}
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	return nil
}

// TOPIC GROUP: administers a topic of its own and a group that has offsets; prints what it has seen.
func admin(ctx context.Context, seeds kgo.Opt, args []string) error {
	topic, group := args[0], args[1]
	client, err := kgo.NewClient(seeds)
	if err != nil {
		return err
	}
	defer client.Close()
	calls := kadm.NewClient(client)
	retention := "1000000"
	if _, err := calls.CreateTopic(ctx, 2, 3, map[string]*string{"retention.ms": &retention}, topic); err != nil {
		return err
	}
	_, err = calls.CreateTopic(ctx, 2, 3, nil, topic)
	fmt.Println("again", errors.Is(err, kerr.TopicAlreadyExists))
	if grown, err := calls.UpdatePartitions(ctx, 3, topic); err != nil || grown.Error() != nil {
		return errors.Join(err, grown.Error())
	}
	// Any broker answers, and one may hear of the new partition a moment later.
	var topics kadm.TopicDetails
	for tries := 0; tries < 100 && len(topics[topic].Partitions) < 3; tries++ {
		time.Sleep(100 * time.Millisecond)
		if topics, err = calls.ListTopics(ctx, topic); err != nil {
			return err
		}
	}
	fmt.Println("partitions", len(topics[topic].Partitions))
	compact := "compact"
	if _, err := calls.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "cleanup.policy", Value: &compact}}, topic); err != nil {
		return err
	}
	told := map[string]string{}
	for tries := 0; tries < 100 && told["cleanup.policy"] != compact; tries++ {
		time.Sleep(100 * time.Millisecond) // as above
		configs, err := calls.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return err
		}
		config, err := configs.On(topic, nil)
		if err != nil {
			return err
		}
		for _, one := range config.Configs {
			told[one.Key] = one.MaybeValue()
		}
	}
	for _, key := range []string{"cleanup.policy", "retention.ms"} {
		fmt.Println(key, told[key])
	}
	brokers, err := calls.ListBrokers(ctx)
	if err != nil {
		return err
	}
	fmt.Println("brokers", brokers.NodeIDs())
	offsets := make(kadm.Offsets)
	offsets.AddOffset(topic, 1, 0, -1)
	if err := calls.CommitAllOffsets(ctx, group, offsets); err != nil {
		return err
	}
	fetched, err := calls.FetchOffsets(ctx, group)
	if err != nil {
		return err
	}
	at, _ := fetched.Lookup(topic, 1)
	fmt.Println("committed", at.At)
	lags, err := calls.Lag(ctx, group)
	if err != nil || lags.Error() != nil {
		return errors.Join(err, lags.Error())
	}
	fmt.Println("state", lags[group].State, "lag", lags[group].Lag.Total())
	groups, err := calls.ListGroups(ctx)
	if err != nil {
		return err
	}
	fmt.Println("listed", slices.Contains(groups.Groups(), group))
	deleted, err := calls.DeleteGroups(ctx, group)
	if err != nil || deleted.Error() != nil {
		return errors.Join(err, deleted.Error())
	}
	_, err = calls.DeleteTopic(ctx, topic)
	return err
}

// Begins a transaction, and prints the error that it ends with.
func transaction(ctx context.Context, seeds kgo.Opt, args []string) error {
	client, err := kgo.NewClient(seeds, kgo.TransactionalID("mine"), kgo.AllowAutoTopicCreation())
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	return client.ProduceSync(ctx, &kgo.Record{Topic: args[0], Value: []byte("v")}).FirstErr()
}
