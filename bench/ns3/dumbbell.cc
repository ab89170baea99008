// The dumbbell of crates/sim/benches/dumbbell.rs in ns-3, to be timed beside it: NewReno flows without selective and without delayed
// acknowledgments over one bottleneck of 40 ms, each behind links of its own of 5 ms and four times the rate.
//
// dumbbell FLOWS BITS_PER_SECOND PACKET_BYTES SECONDS [BUFFER_PACKETS ALGORITHM SACK [RTT_MS]]
//
// It also says what experiments/oracles compares: when a flow first entered recovery and with which window, the mean queue at every 100 ms,
// goodput, and Jain's index of the flows' goodput, the last three of the second half. ALGORITHM is NewReno, Cubic or Bbr, SACK 0 or 1. RTT_MS is
// the round-trip time without queues, of which the bottleneck has four fifths; 100 without it.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

// PPP, IPv4 and TCP without options.
static const uint32_t HEADERS = 2 + 20 + 20;

// The first entry into recovery or timeout of any flow.
static double first_loss = -1, first_window = -1;
static uint64_t queue_sum = 0, queue_samples = 0;

static void OnState(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t now) {
    if (first_loss < 0 && (now == TcpSocketState::CA_RECOVERY || now == TcpSocketState::CA_LOSS)) {
        first_loss = Simulator::Now().GetSeconds();
    }
}

// The last value before the first loss.
static void OnWindow(uint32_t segment, uint32_t, uint32_t now) {
    if (first_loss < 0 && now > first_window * segment) {
        first_window = static_cast<double>(now) / segment;
    }
}

static void Attach(Ptr<BulkSendApplication> source, uint32_t segment) {
    Ptr<TcpSocketBase> socket = DynamicCast<TcpSocketBase>(source->GetSocket());
    socket->TraceConnectWithoutContext("CongState", MakeCallback(&OnState));
    socket->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&OnWindow, segment));
}

static void Sample(Ptr<Queue<Packet>> queue) {
    queue_sum += queue->GetNPackets();
    queue_samples++;
    Simulator::Schedule(MilliSeconds(100), &Sample, queue);
}

int main(int argc, char** argv) {
    if (argc != 5 && argc != 8 && argc != 9) {
        std::fprintf(stderr, "usage: dumbbell FLOWS BITS_PER_SECOND PACKET_BYTES SECONDS [BUFFER_PACKETS ALGORITHM SACK [RTT_MS]]\n");
        return 1;
    }
    const uint32_t flows = std::atoi(argv[1]);
    const uint64_t rate = std::atoll(argv[2]);
    const uint32_t packet = std::atoi(argv[3]);
    const double seconds = std::atof(argv[4]);
    const double rtt = argc > 8 ? std::atof(argv[8]) / 1000 : 0.1;
    const uint64_t pipe = rate / 8.0 / packet * rtt;
    const uint64_t buffer = argc > 5 ? std::atoll(argv[5]) : pipe / 4;
    const std::string algorithm = argc > 5 ? argv[6] : "NewReno";
    const bool sack = argc > 5 && std::atoi(argv[7]) != 0;
    const auto begin = std::chrono::steady_clock::now();

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName(
        algorithm == "Cubic" ? "ns3::TcpCubic" : algorithm == "Bbr" ? "ns3::TcpBbr" : "ns3::TcpNewReno")));
    // As RFC 6582 has it.
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(packet - HEADERS));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(algorithm == "Bbr" ? 10 : 1));
    Config::SetDefault("ns3::TcpSocketState::EnablePacing", BooleanValue(algorithm == "Bbr"));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(sack));

    NodeContainer routers, left, right;
    routers.Create(2);
    left.Create(flows);
    right.Create(flows);
    InternetStackHelper internet;
    internet.InstallAll();

    PointToPointHelper bottleneck, side;
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    bottleneck.SetChannelAttribute("Delay", TimeValue(Seconds(rtt * 0.4)));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(buffer) + "p"));
    side.SetDeviceAttribute("DataRate", DataRateValue(DataRate(4 * rate)));
    side.SetChannelAttribute("Delay", TimeValue(Seconds(rtt * 0.05)));
    side.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("1000000p"));

    Ipv4AddressHelper addresses;
    addresses.SetBase("10.0.0.0", "255.255.255.252");
    // A device without a queueing discipline above: its own queue is the only one.
    const auto join = [&](PointToPointHelper& link, Ptr<Node> one, Ptr<Node> other) {
        const NetDeviceContainer devices = link.Install(one, other);
        const Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        TrafficControlHelper().Uninstall(devices);
        addresses.NewNetwork();
        return interfaces;
    };
    join(bottleneck, routers.Get(0), routers.Get(1));
    Ptr<PointToPointNetDevice> device = DynamicCast<PointToPointNetDevice>(routers.Get(0)->GetDevice(1));
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < flows; flow++) {
        join(side, left.Get(flow), routers.Get(0));
        const Ipv4InterfaceContainer far = join(side, routers.Get(1), right.Get(flow));
        const InetSocketAddress to(far.GetAddress(1), 9);
        sinks.Add(PacketSinkHelper("ns3::TcpSocketFactory", to).Install(right.Get(flow)));
        BulkSendHelper source("ns3::TcpSocketFactory", to);
        source.SetAttribute("SendSize", UintegerValue(packet - HEADERS));
        const double begins = flows == 1 ? 0 : start->GetValue(0, 0.1);
        ApplicationContainer sources = source.Install(left.Get(flow));
        sources.Start(Seconds(begins));
        Simulator::Schedule(Seconds(begins) + NanoSeconds(1), &Attach, DynamicCast<BulkSendApplication>(sources.Get(0)), packet - HEADERS);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    const auto received = [&]() {
        std::vector<double> bytes;
        for (uint32_t flow = 0; flow < flows; flow++) {
            bytes.push_back(DynamicCast<PacketSink>(sinks.Get(flow))->GetTotalRx());
        }
        return bytes;
    };
    std::vector<double> half;
    Simulator::Schedule(Seconds(seconds / 2), [&]() { half = received(); });
    Simulator::Schedule(Seconds(seconds / 2), &Sample, device->GetQueue());
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    const std::vector<double> all = received();
    double bytes = 0, sum = 0, squares = 0;
    for (uint32_t flow = 0; flow < flows; flow++) {
        const double late = all[flow] - half[flow];
        bytes += all[flow];
        sum += late;
        squares += late * late;
    }
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%.0f segments delivered, %lu events, %.2f s\n", bytes / (packet - HEADERS), Simulator::GetEventCount(), took);
    const double segments = sum / (packet - HEADERS);
    const double second_half = segments * packet * 8 / (seconds / 2);
    std::printf("first loss after %.3f s at a window of %.0f segments; second half: %.3f Mbit/s, mean queue %.1f packets, Jain's index %.4f\n",
                first_loss, first_window, second_half / 1e6, static_cast<double>(queue_sum) / queue_samples, sum * sum / (flows * squares));
    Simulator::Destroy();
    return 0;
}
