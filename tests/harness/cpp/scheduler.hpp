// SPDX-License-Identifier: Apache-2.0
// A framework on a real master, by the scheduler driver that Mesos gives to frameworks in C++.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <mesos/message.hpp>

#include "messages.hpp"

namespace mesos {

class SchedulerDriver;

MESOS_MESSAGE(ExecutorID, 32);
MESOS_MESSAGE(MasterInfo, 104);
MESOS_MESSAGE(Offer, 160);
MESOS_MESSAGE(OfferID, 32);

// What the driver calls. The order of the functions is the order of the virtual table.
class Scheduler
{
public:
  virtual ~Scheduler() {}
  virtual void registered(SchedulerDriver* driver, const FrameworkID& id, const MasterInfo& master) = 0;
  virtual void reregistered(SchedulerDriver* driver, const MasterInfo& master) = 0;
  virtual void disconnected(SchedulerDriver* driver) = 0;
  virtual void resourceOffers(SchedulerDriver* driver, const std::vector<Offer>& offers) = 0;
  virtual void offerRescinded(SchedulerDriver* driver, const OfferID& offer) = 0;
  virtual void statusUpdate(SchedulerDriver* driver, const TaskStatus& status) = 0;
  virtual void frameworkMessage(SchedulerDriver* driver,
                                const ExecutorID& executor,
                                const SlaveID& agent,
                                const std::string& data) = 0;
  virtual void slaveLost(SchedulerDriver* driver, const SlaveID& agent) = 0;
  virtual void executorLost(SchedulerDriver* driver, const ExecutorID& executor, const SlaveID& agent, int status) = 0;
  virtual void error(SchedulerDriver* driver, const std::string& message) = 0;
};

// Storage for the driver, more than it is; it lives as long as the process.
class MesosSchedulerDriver
{
public:
  MesosSchedulerDriver(Scheduler* scheduler, const FrameworkInfo& framework, const std::string& master);
  int start();
  int acceptOffers(const std::vector<OfferID>& offers,
                   const std::vector<Offer_Operation>& operations,
                   const Filters& filters);
  int declineOffer(const OfferID& offer, const Filters& filters);

private:
  alignas(16) unsigned char room[4096];
};

} // namespace mesos

namespace harness {

class Framework final : public mesos::Scheduler
{
public:
  // Registers with the master of this test, as one that knows what to do with GPUs.
  Framework();

  // An offer with at least so many GPUs; others are declined. Throws when none comes.
  Tree offer(double gpus);
  // Launches a command task: `more` are further fields of it.
  void launch(const Tree& offer,
              const std::string& task,
              const std::string& resources,
              const std::string& command,
              const std::string& more = "");
  // The same as the only task of a group, for the default executor.
  void launchGroup(const Tree& offer,
                   const std::string& task,
                   const std::string& resources,
                   const std::string& command,
                   const std::string& more = "");
  // The next status of a task, whatever it is; throws when none comes.
  Tree status(const std::string& task);
  // All states up to the one that is the end.
  std::vector<std::string> states(const std::string& task);

private:
  void accept(const Tree& offer, const std::string& operation);
  template <typename F>
  void wait(const char* what, F until);

  void registered(mesos::SchedulerDriver*, const mesos::FrameworkID& id, const mesos::MasterInfo&) override;
  void reregistered(mesos::SchedulerDriver*, const mesos::MasterInfo&) override {}
  void disconnected(mesos::SchedulerDriver*) override {}
  void resourceOffers(mesos::SchedulerDriver*, const std::vector<mesos::Offer>& offers) override;
  void offerRescinded(mesos::SchedulerDriver*, const mesos::OfferID& offer) override;
  void statusUpdate(mesos::SchedulerDriver*, const mesos::TaskStatus& status) override;
  void frameworkMessage(mesos::SchedulerDriver*,
                        const mesos::ExecutorID&,
                        const mesos::SlaveID&,
                        const std::string&) override
  {}
  void slaveLost(mesos::SchedulerDriver*, const mesos::SlaveID&) override {}
  void executorLost(mesos::SchedulerDriver*, const mesos::ExecutorID&, const mesos::SlaveID&, int) override {}
  void error(mesos::SchedulerDriver*, const std::string& message) override;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string id_;
  std::string error_;
  std::deque<Tree> offers_;
  std::map<std::string, std::deque<Tree>> statuses_;
  mesos::MesosSchedulerDriver* driver_;
};

} // namespace harness
