// SPDX-License-Identifier: Apache-2.0
#include "scheduler.hpp"

#include <stdexcept>

#include "futures.hpp"
#include "modules.hpp"

using std::string;
using std::vector;

namespace harness {

namespace {

string field(const string& name, const string& value)
{
  return name + " { value: \"" + value + "\" } ";
}

string taskOf(const Tree& offer, const string& task, const string& resources, const string& command)
{
  string escaped;
  for (const char c : command) {
    escaped += c == '"' || c == '\\' ? string("\\") + c : string(1, c);
  }
  return "name: \"" + task + "\" " + field("task_id", task) +
         field("slave_id", offer.at("slave_id").at("value").value()) + resources + " command { value: \"" + escaped +
         "\" } ";
}

double gpusOf(const Tree& offer)
{
  double sum = 0;
  for (const Tree& one : offer.all("resources")) {
    if (one.at("name").value() == "gpus") {
      sum += std::stod(one.at("scalar").at("value").value());
    }
  }
  return sum;
}

} // namespace

Framework::Framework()
{
  const auto info =
      message<mesos::FrameworkInfo>("user: \"root\" name: \"harness\" capabilities { type: GPU_RESOURCES }");
  driver_ = new mesos::MesosSchedulerDriver(this, info, variable("HARNESS_MASTER"));
  driver_->start();
  wait("the master to register the framework", [this] { return !id_.empty(); });
}

template <typename F>
void Framework::wait(const char* what, F until)
{
  std::unique_lock<std::mutex> lock(mutex_);
  const bool came = changed_.wait_for(lock, PATIENCE, [&] { return !error_.empty() || until(); });
  if (!came || !error_.empty()) {
    throw std::runtime_error(string("waited in vain for ") + what + ": " + error_);
  }
}

Tree Framework::offer(double gpus)
{
  for (;;) {
    wait("an offer", [this] { return !offers_.empty(); });
    Tree offer("");
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (offers_.empty()) {
        continue;
      }
      offer = offers_.front();
      offers_.pop_front();
    }
    if (gpusOf(offer) >= gpus) {
      return offer;
    }
    driver_->declineOffer(message<mesos::OfferID>("value: \"" + offer.at("id").at("value").value() + "\""),
                          message<mesos::Filters>("refuse_seconds: 0.1"));
  }
}

void Framework::launch(
    const Tree& offer, const string& task, const string& resources, const string& command, const string& more)
{
  accept(offer, "type: LAUNCH launch { task_infos { " + taskOf(offer, task, resources, command) + more + " } }");
}

void Framework::launchGroup(
    const Tree& offer, const string& task, const string& resources, const string& command, const string& more)
{
  const string executor = "executor { type: DEFAULT " + field("executor_id", "executor-of-" + task) +
                          field("framework_id", id_) + harness::resources({{"cpus", 0.1}, {"mem", 32}, {"disk", 32}}) +
                          " }";
  accept(offer, "type: LAUNCH_GROUP launch_group { " + executor + " task_group { tasks { " +
                    taskOf(offer, task, resources, command) + more + " } } }");
}

void Framework::accept(const Tree& offer, const string& operation)
{
  driver_->acceptOffers({message<mesos::OfferID>("value: \"" + offer.at("id").at("value").value() + "\"")},
                        {message<mesos::Offer_Operation>(operation)}, message<mesos::Filters>("refuse_seconds: 0"));
}

Tree Framework::status(const string& task)
{
  wait("a status", [&] { return !statuses_[task].empty(); });
  const std::lock_guard<std::mutex> lock(mutex_);
  const Tree first = statuses_[task].front();
  statuses_[task].pop_front();
  return first;
}

vector<string> Framework::states(const string& task)
{
  vector<string> all;
  do {
    all.push_back(status(task).at("state").value());
  } while (all.back() == "TASK_STARTING" || all.back() == "TASK_RUNNING");
  return all;
}

void Framework::registered(mesos::SchedulerDriver*, const mesos::FrameworkID& id, const mesos::MasterInfo&)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  id_ = Tree::of(id).at("value").value();
  changed_.notify_all();
}

void Framework::resourceOffers(mesos::SchedulerDriver*, const vector<mesos::Offer>& offers)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const mesos::Offer& one : offers) {
    offers_.push_back(Tree::of(one));
  }
  changed_.notify_all();
}

void Framework::offerRescinded(mesos::SchedulerDriver*, const mesos::OfferID& offer)
{
  const string id = Tree::of(offer).at("value").value();
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto one = offers_.begin(); one != offers_.end(); ++one) {
    if (one->at("id").at("value").value() == id) {
      offers_.erase(one);
      break;
    }
  }
}

void Framework::statusUpdate(mesos::SchedulerDriver*, const mesos::TaskStatus& status)
{
  const Tree told = Tree::of(status);
  const std::lock_guard<std::mutex> lock(mutex_);
  statuses_[told.at("task_id").at("value").value()].push_back(told);
  changed_.notify_all();
}

void Framework::error(mesos::SchedulerDriver*, const string& message)
{
  const std::lock_guard<std::mutex> lock(mutex_);
  error_ = message;
  changed_.notify_all();
}

} // namespace harness
