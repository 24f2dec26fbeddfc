// planstrip for DeepSeek Harness: a plugin that hands a session's events to `planstrip hook deepseek-harness`.
import { spawn, spawnSync } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const COMMAND = ["planstrip", "hook", "deepseek-harness"]
const SESSIONS = join(process.env.DSH_HOME || join(homedir(), ".dsh"), "sessions")
const TYPES = new Set(["turn/start", "turn/end", "tool/call", "todo/write", "tool/result", "session/title"])
const BEFORE_PROMPT = new Set(["agent/inbox/spliced", "step/start", "subagent/descriptor", "approval/policy", "user/message"])
const held = new Map() // a turn's start waits for its prompt, as a reader of the transcript has it
const queue = []
let sending = null // the hook that is on its way

function send() {
  if (sending || queue.length === 0) return
  const next = () => {
    sending = null
    send()
  }
  const child = (sending = spawn(COMMAND[0], COMMAND.slice(1), { stdio: ["pipe", "ignore", "ignore"] }))
  child.once("error", next)
  child.once("close", next)
  child.stdin.on("error", () => {})
  child.stdin.end(queue.shift())
}

function hand(session, event, prompt) {
  const { cwd, parentSession: parent } = session.header ?? {}
  queue.push(JSON.stringify({ session_id: session.id, cwd, parent, sessions_dir: SESSIONS, event, prompt }))
  if (queue.length > 1000) queue.shift()
  send()
}

function release(session, event) {
  const start = held.get(session.id)
  if (start === undefined) return
  const isPrompt = event.type === "user/message" && event.data?.source?.kind === "user"
  if (BEFORE_PROMPT.has(event.type) && !isPrompt) return
  held.delete(session.id)
  const texts = isPrompt ? (event.data.content ?? []).map((part) => part.text).filter(Boolean) : []
  hand(session, start, texts.join("\n"))
}

process.once("exit", () => {
  if (sending) {
    sending.stdin.destroy() // at once, where `end` would wait
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  }
  for (const input of queue.splice(0)) spawnSync(COMMAND[0], COMMAND.slice(1), { input, timeout: 1000 })
})

export const name = "planstrip"

export function apply(ctx) {
  ctx.on("session/event", (session, event) => {
    release(session, event)
    if (event.type === "turn/start") held.set(session.id, event)
    else if (TYPES.has(event.type)) hand(session, event)
  }, { global: true })
}
