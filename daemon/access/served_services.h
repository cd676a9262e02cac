// The services that each caller's server has, by their names on the wire: for whoever tells of them (health_service.h,
// reflection_service.h). Which calls they have, and who may make them, is access_rules.h.
#pragma once

namespace kprof {

inline constexpr const char* kServedServices[] = {
    "kprof.v1.NodeService",
    "kprof.v1.RunsService",
    "kprof.v1.QueriesService",
    "kprof.v1.AnalysisService",
    "kprof.v1.SessionsService",
    "grpc.health.v1.Health",
    "grpc.reflection.v1alpha.ServerReflection",
};

}  // namespace kprof
