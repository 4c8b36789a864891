import java.time.Duration;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/** Java's client as its users have it, for tests; what is printed is told with each method. */
public class KafkaClient {
    private static final String STRING = "org.apache.kafka.common.serialization.String";

    public static void main(String[] args) throws Exception {
        String[] rest = java.util.Arrays.copyOfRange(args, 2, args.length);
        switch (args[0]) {
            case "member" -> member(args[1], rest);
            case "produce" -> produce(args[1], rest);
            case "seek" -> seek(args[1], rest);
            default -> throw new IllegalArgumentException(args[0]);
        }
    }

    private static Properties consumer(String bootstrap, String group) {
        Properties given = new Properties();
        given.put("bootstrap.servers", bootstrap);
        given.put("group.id", group);
        given.put("auto.offset.reset", "earliest");
        given.put("enable.auto.commit", "false");
        given.put("key.deserializer", STRING + "Deserializer");
        given.put("value.deserializer", STRING + "Deserializer");
        return given;
    }

    /** TOPIC COUNT CODECS…: writes CODEC-0, CODEC-1 … to partition 0 by an idempotent producer of each. */
    private static void produce(String bootstrap, String[] args) throws Exception {
        for (String codec : List.of(args).subList(2, args.length)) {
            Properties given = new Properties();
            given.put("bootstrap.servers", bootstrap);
            given.put("compression.type", codec);
            given.put("key.serializer", STRING + "Serializer");
            given.put("value.serializer", STRING + "Serializer");
            try (KafkaProducer<String, String> producer = new KafkaProducer<>(given)) {
                for (int n = 0; n < Integer.parseInt(args[1]); n++) {
                    producer.send(new ProducerRecord<>(args[0], 0, "k", codec + "-" + n)).get();
                }
            }
        }
    }

    /** GROUP TOPIC: by seek, by time, by commits with texts; prints what it finds. */
    private static void seek(String bootstrap, String[] args) {
        TopicPartition at = new TopicPartition(args[1], 0);
        List<TopicPartition> only = List.of(at);
        Duration limit = Duration.ofSeconds(30);
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(consumer(bootstrap, args[0]))) {
            consumer.assign(only);
            System.out.println("ends " + consumer.beginningOffsets(only).get(at) + " " + consumer.endOffsets(only).get(at));
            System.out.println("at time " + consumer.offsetsForTimes(Map.of(at, 1000L)).get(at).offset());
            consumer.seek(at, consumer.endOffsets(only).get(at) - 2);
            ConsumerRecords<String, String> records = consumer.poll(limit);
            for (ConsumerRecord<String, String> one : records) {
                System.out.println("value " + one.offset() + " " + one.value());
            }
            consumer.commitSync(Map.of(at, new OffsetAndMetadata(7, "text")));
            OffsetAndMetadata committed = consumer.committed(Collections.singleton(at)).get(at);
            System.out.println("committed " + committed.offset() + " " + committed.metadata());
            System.out.println("partitions " + consumer.partitionsFor(args[1]).size());
        }
    }

    /**
     * GROUP TOPIC STRATEGY [INSTANCE]: prints "owned" with its partitions whenever they change, and "value" with each
     * value once it is committed, until its input ends.
     */
    private static void member(String bootstrap, String[] args) throws Exception {
        Properties given = consumer(bootstrap, args[0]);
        String assignors = "org.apache.kafka.clients.consumer.";
        switch (args[2]) {
            case "range" -> given.put("partition.assignment.strategy", assignors + "RangeAssignor");
            case "roundrobin" -> given.put("partition.assignment.strategy", assignors + "RoundRobinAssignor");
            case "sticky" -> given.put("partition.assignment.strategy", assignors + "StickyAssignor");
            case "cooperative-sticky" -> given.put("partition.assignment.strategy", assignors + "CooperativeStickyAssignor");
            case "consumer" -> given.put("group.protocol", "consumer");
            default -> throw new IllegalArgumentException(args[2]);
        }
        if (!args[2].equals("consumer")) {
            // A static member that starts again has a JVM to start.
            given.put("session.timeout.ms", args.length > 3 ? "60000" : "10000");
            given.put("heartbeat.interval.ms", "500");
        }
        if (args.length > 3) {
            given.put("group.instance.id", args[3]);
        }
        AtomicBoolean isOver = new AtomicBoolean();
        Thread ending = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                }
            } catch (java.io.IOException error) {
                // It has ended, too.
            }
            isOver.set(true);
        });
        ending.setDaemon(true);
        ending.start();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(given)) {
            TreeSet<Integer> owned = new TreeSet<>();
            consumer.subscribe(List.of(args[1]), new ConsumerRebalanceListener() {
                private void tell() {
                    StringBuilder line = new StringBuilder("owned");
                    owned.forEach(one -> line.append(' ').append(one));
                    System.out.println(line);
                }

                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> gains) {
                    gains.forEach(one -> owned.add(one.partition()));
                    tell();
                }

                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> losses) {
                    losses.forEach(one -> owned.remove(one.partition()));
                    tell();
                }
            });
            while (!isOver.get()) {
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
                if (!records.isEmpty()) {
                    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                    for (TopicPartition one : records.partitions()) {
                        List<ConsumerRecord<String, String>> last = records.records(one);
                        offsets.put(one, new OffsetAndMetadata(last.get(last.size() - 1).offset() + 1));
                    }
                    consumer.commitSync(offsets);
                    records.forEach(one -> System.out.println("value " + one.value()));
                }
            }
        }
    }
}
