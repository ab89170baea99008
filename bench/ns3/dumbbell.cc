// The dumbbell of crates/sim/benches/dumbbell.rs in ns-3, to be timed beside it: NewReno flows without selective and without delayed
// acknowledgments over one bottleneck of 40 ms, each behind links of its own of 5 ms and four times the rate.
//
// dumbbell FLOWS BITS_PER_SECOND PACKET_BYTES SECONDS

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

using namespace ns3;

// PPP, IPv4 and TCP without options.
static const uint32_t HEADERS = 2 + 20 + 20;

int main(int argc, char** argv) {
    if (argc != 5) {
        std::fprintf(stderr, "usage: dumbbell FLOWS BITS_PER_SECOND PACKET_BYTES SECONDS\n");
        return 1;
    }
    const uint32_t flows = std::atoi(argv[1]);
    const uint64_t rate = std::atoll(argv[2]);
    const uint32_t packet = std::atoi(argv[3]);
    const double seconds = std::atof(argv[4]);
    const uint64_t pipe = rate / 8 / packet / 10;
    const auto begin = std::chrono::steady_clock::now();

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(packet - HEADERS));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(64 << 20));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));

    NodeContainer routers, left, right;
    routers.Create(2);
    left.Create(flows);
    right.Create(flows);
    InternetStackHelper internet;
    internet.InstallAll();

    PointToPointHelper bottleneck, side;
    bottleneck.SetDeviceAttribute("DataRate", DataRateValue(DataRate(rate)));
    bottleneck.SetChannelAttribute("Delay", StringValue("40ms"));
    bottleneck.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue(std::to_string(pipe / 4) + "p"));
    side.SetDeviceAttribute("DataRate", DataRateValue(DataRate(4 * rate)));
    side.SetChannelAttribute("Delay", StringValue("5ms"));
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
    Ptr<UniformRandomVariable> start = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks;
    for (uint32_t flow = 0; flow < flows; flow++) {
        join(side, left.Get(flow), routers.Get(0));
        const Ipv4InterfaceContainer far = join(side, routers.Get(1), right.Get(flow));
        const InetSocketAddress to(far.GetAddress(1), 9);
        sinks.Add(PacketSinkHelper("ns3::TcpSocketFactory", to).Install(right.Get(flow)));
        BulkSendHelper source("ns3::TcpSocketFactory", to);
        source.SetAttribute("SendSize", UintegerValue(packet - HEADERS));
        source.Install(left.Get(flow)).Start(Seconds(start->GetValue(0, 0.1)));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    uint64_t bytes = 0;
    for (uint32_t flow = 0; flow < flows; flow++) {
        bytes += sinks.Get(flow)->GetObject<PacketSink>()->GetTotalRx();
    }
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    std::printf("%lu segments delivered, %lu events, %.2f s\n", bytes / (packet - HEADERS), Simulator::GetEventCount(), took);
    Simulator::Destroy();
    return 0;
}
