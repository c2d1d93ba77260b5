// SPDX-License-Identifier: Apache-2.0
// The client's end of the language server protocol: messages over the standard streams of a process. Knows nothing of
// the editor.
"use strict";

const { spawn } = require("child_process");

// An answer that the server refuses is an Error with its message.
class Client {
  // `failed(error)` is called once if the process cannot be started, or ends by itself.
  constructor(command, args, failed) {
    this.waiting = new Map(); // by the request's number: the functions of its promise
    this.handlers = new Map(); // by the method of a notification
    this.next = 1;
    this.isOver = false;
    this.buffer = Buffer.alloc(0);
    this.process = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.process.on("error", (error) => this.end(error, failed));
    this.process.on("exit", (code) => this.end(new Error(`${command} has ended with code ${code}`), failed));
    this.process.stdin.on("error", () => {}); // what cannot be written is told by the end of the process
    this.process.stdout.on("data", (bytes) => this.take(bytes));
  }

  onNotification(method, handler) {
    this.handlers.set(method, handler);
  }

  notify(method, params) {
    this.write({ jsonrpc: "2.0", method, params });
  }

  // `token`: a CancellationToken of the editor, or nothing.
  request(method, params, token) {
    if (this.isOver) return Promise.reject(new Error("the server has ended"));
    const id = this.next++;
    const answer = new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
    this.write({ jsonrpc: "2.0", id, method, params });
    if (token) token.onCancellationRequested(() => this.notify("$/cancelRequest", { id }));
    return answer;
  }

  // Asks the server to end, and ends it if it does not.
  async stop() {
    if (this.isOver) return;
    const impatience = setTimeout(() => this.process.kill(), 2000);
    const over = new Promise((resolve) => this.process.once("exit", resolve));
    this.request("shutdown", null).then(
      () => this.notify("exit"),
      () => {},
    );
    this.isStopped = true;
    await over;
    clearTimeout(impatience);
  }

  write(message) {
    if (this.isOver) return;
    const body = Buffer.from(JSON.stringify(message), "utf8");
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  take(bytes) {
    this.buffer = Buffer.concat([this.buffer, bytes]);
    for (;;) {
      const headerEnd = this.buffer.indexOf("\r\n\r\n");
      if (headerEnd < 0) return;
      const length = /Content-Length: *(\d+)/i.exec(this.buffer.toString("ascii", 0, headerEnd));
      const begin = headerEnd + 4;
      const end = begin + (length ? Number(length[1]) : 0);
      if (this.buffer.length < end) return;
      const body = this.buffer.toString("utf8", begin, end);
      this.buffer = this.buffer.subarray(end);
      this.dispatch(JSON.parse(body));
    }
  }

  dispatch(message) {
    if (message.method !== undefined) {
      const handler = this.handlers.get(message.method);
      if (handler) handler(message.params);
      // A request of the server would wait for ever.
      if (message.id !== undefined)
        this.write({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "not supported" } });
      return;
    }
    const waiting = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    if (!waiting) return;
    if (message.error) waiting.reject(new Error(message.error.message));
    else waiting.resolve(message.result);
  }

  end(error, failed) {
    if (this.isOver) return;
    this.isOver = true;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
    if (!this.isStopped) failed(error);
  }
}

module.exports = { Client };
