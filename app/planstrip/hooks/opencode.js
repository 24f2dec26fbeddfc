// planstrip for opencode: hands what its bus says about sessions to `planstrip hook opencode`, one after the other.
import { spawn, spawnSync } from "node:child_process"
import { homedir } from "node:os"
import { join } from "node:path"

const COMMAND = ["planstrip", "hook", "opencode"]
const DATABASE = join(process.env.XDG_DATA_HOME || join(homedir(), ".local", "share"), "opencode", "opencode.db")
const TYPES = new Set([
  "session.created", "session.updated", "session.idle", "session.error", "message.updated", "message.part.updated",
  "permission.updated", "permission.asked", "permission.replied",
])
const told = new Set() // of a tool's many updates one is told for each state
const queue = []
let sending = null // the hook that is on its way

function isNews(event) {
  const { part, info } = event.properties ?? {}
  if (event.type === "message.updated") return info?.role === "user"
  if (event.type !== "message.part.updated") return TYPES.has(event.type)
  if (part?.type !== "tool" || !["running", "completed", "error"].includes(part.state?.status)) return false
  const state = `${part.callID}/${part.state.status}`
  if (told.has(state)) return false
  if (told.size > 10000) told.clear()
  told.add(state)
  return true
}

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

function hand(event) {
  queue.push(JSON.stringify({ ...event, transcript_path: DATABASE }))
  if (queue.length > 1000) queue.shift()
  send()
}

process.once("exit", () => {
  if (sending) {
    sending.stdin.destroy() // at once, where `end` would wait
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200)
  }
  for (const input of queue.splice(0)) spawnSync(COMMAND[0], COMMAND.slice(1), { input, timeout: 1000 })
})

export const Planstrip = async () => ({
  event: async ({ event }) => {
    if (isNews(event)) hand(event)
  },
  "chat.message": async (_input, { message, parts }) => {
    const texts = parts.filter((part) => part.type === "text" && !part.synthetic).map(({ text }) => ({ text }))
    hand({ type: "chat.message", properties: { sessionID: message.sessionID, message: { id: message.id }, parts: texts } })
  },
})
