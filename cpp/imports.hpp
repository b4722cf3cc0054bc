// SPDX-License-Identifier: Apache-2.0
// Every name that this library takes from libmesos, as the linker spells it. The references are weak, so a name that the
// running library lacks is found here, by name, and not by a crash. A test keeps this list equal to what the shared
// library really asks for.
#pragma once

namespace mesos_gpu {

constexpr const char* IMPORTS[] = {
    "_ZN5mesos10ParametersC1Ev",
    "_ZN5mesos10ParametersD1Ev",
    "_ZN5mesos10TaskStatusC1ERKS0_",
    "_ZN5mesos10TaskStatusC1Ev",
    "_ZN5mesos10TaskStatusD1Ev",
    "_ZN5mesos11ContainerIDC1Ev",
    "_ZN5mesos11ContainerIDD1Ev",
    "_ZN5mesos11EnvironmentC1ERKS0_",
    "_ZN5mesos11EnvironmentD1Ev",
    "_ZN5mesos15ContainerStatusC1ERKS0_",
    "_ZN5mesos15ContainerStatusC1Ev",
    "_ZN5mesos15ContainerStatusD1Ev",
    "_ZN5mesos18ResourceStatisticsC1ERKS0_",
    "_ZN5mesos18ResourceStatisticsC1Ev",
    "_ZN5mesos18ResourceStatisticsD1Ev",
    "_ZN5mesos29DockerTaskExecutorPrepareInfoC1ERKS0_",
    "_ZN5mesos29DockerTaskExecutorPrepareInfoD1Ev",
    "_ZN5mesos5slave14ContainerStateC1Ev",
    "_ZN5mesos5slave14ContainerStateD1Ev",
    "_ZN5mesos5slave15ContainerConfigC1Ev",
    "_ZN5mesos5slave15ContainerConfigD1Ev",
    "_ZN5mesos5slave19ContainerLaunchInfoC1ERKS1_",
    "_ZN5mesos5slave19ContainerLaunchInfoC1Ev",
    "_ZN5mesos5slave19ContainerLaunchInfoD1Ev",
    "_ZN5mesos5slave19ContainerLimitationC1ERKS1_",
    "_ZN5mesos5slave19ContainerLimitationC1Ev",
    "_ZN5mesos5slave19ContainerLimitationD1Ev",
    "_ZN5mesos6LabelsC1ERKS0_",
    "_ZN5mesos6LabelsD1Ev",
    "_ZN5mesos7FiltersC1ERKS0_",
    "_ZN5mesos7FiltersC1Ev",
    "_ZN5mesos7FiltersD1Ev",
    "_ZN5mesos7SlaveIDC1ERKS0_",
    "_ZN5mesos7SlaveIDC1Ev",
    "_ZN5mesos7SlaveIDD1Ev",
    "_ZN5mesos8ResourceC1Ev",
    "_ZN5mesos8ResourceD1Ev",
    "_ZN5mesos9Attribute8CopyFromERKS0_",
    "_ZN5mesos9AttributeC1ERKS0_",
    "_ZN5mesos9AttributeC1Ev",
    "_ZN5mesos9AttributeD1Ev",
    "_ZN5mesos9ResourcesC1ERKNS_8ResourceE",
    "_ZN5mesos9ResourcesC1ERKS0_",
    "_ZN5mesos9ResourcesmIERKS0_",
    "_ZN5mesos9ResourcespLERKNS_8ResourceE",
    "_ZN5mesos9SlaveInfoC1Ev",
    "_ZN5mesos9SlaveInfoD1Ev",
    "_ZN6google10LogMessage6streamEv",
    "_ZN6google10LogMessageC1EPKcii",
    "_ZN6google10LogMessageD1Ev",
    "_ZN6google8protobuf11MessageLite21ParsePartialFromArrayEPKvi",
    "_ZNK6google8protobuf11MessageLite24SerializePartialAsStringB5cxx11Ev",
};

} // namespace mesos_gpu
