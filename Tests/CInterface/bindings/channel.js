// SPDX-License-Identifier: Apache-2.0
// A channel in gjs: values of several types, a value that is not delivered, and a timer that closes the channel.
imports.gi.versions.GRun = "1.0";
const {GLib, GObject, GRun} = imports.gi;

const MODE = "channel";
const loop = GRun.Loop.get_current();
const channel = GRun.Channel.new_for_values(8, value => print(`undelivered ${value}`));
channel.receive_values(loop, MODE, value => {
    const text = value instanceof GLib.Variant ? value.print(true) : value;
    print(`came ${typeof value} ${text}`);
});
for (const value of [1, 1.5, "text", true, new GLib.Variant("(si)", ["text", 1])])
    print(channel.send_value(value) === GRun.SendResult.ENQUEUED);
const timer = GRun.Timer.new(0.001, false, () => {
    channel.send_value("last");
    channel.close();
    return GLib.SOURCE_REMOVE;
});
loop.add_timer(timer, MODE);
print(loop.run_in_mode(MODE, 60, false) === GRun.Result.FINISHED);
print(channel.send_value(2) === GRun.SendResult.CLOSED);

const unused = GRun.Channel.new_for_values(1, value => print(`undelivered ${value}`));
print(unused.send_value("nobody's") === GRun.SendResult.ENQUEUED, unused.send_value(1) === GRun.SendResult.FULL);
unused.invalidate();
const id = loop.perform_after(3600, MODE, () => print("too late"));
print(loop.cancel_perform(id), loop.cancel_perform(id));
