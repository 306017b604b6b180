import { expect, it } from "vitest";
import { configFolder, stateFolder } from "../../src/cli/io.ts";

const cwd = "/work";
const windows = {
  HOME: "C:\\Users\\ann",
  APPDATA: "C:\\Users\\ann\\AppData\\Roaming",
  LOCALAPPDATA: "E:\\Local",
};

it.each([
  ["linux", { HOME: "/home/ann" }, "/home/ann/.local/state/holdfast"],
  ["darwin", { HOME: "/Users/ann" }, "/Users/ann/.local/state/holdfast"],
  ["linux", { HOME: "/home/ann", XDG_STATE_HOME: "/state" }, "/state/holdfast"],
  ["linux", { HOME: "/home/ann", XDG_STATE_HOME: "state" }, "/home/ann/.local/state/holdfast"],
  ["linux", { HOLDFAST_STATE: "here" }, "/work/here"],
  ["win32", windows, "E:\\Local\\holdfast"],
  ["win32", { HOME: "C:\\Users\\ann" }, "C:\\Users\\ann\\AppData\\Local\\holdfast"],
  ["win32", { ...windows, HOLDFAST_STATE: "D:/state" }, "D:\\state"],
  ["win32", { ...windows, XDG_STATE_HOME: "D:\\state" }, "D:\\state\\holdfast"],
] as const)("keeps tasks where programs do: %s with %j", (platform, env, folder) => {
  expect(stateFolder({ env, cwd }, platform)).toBe(folder);
});

it.each([
  ["linux", { HOME: "/home/ann" }, "/home/ann/.config/holdfast"],
  ["darwin", { HOME: "/Users/ann", XDG_CONFIG_HOME: "/config" }, "/config/holdfast"],
  ["linux", { HOME: "/home/ann", XDG_CONFIG_HOME: "config" }, "/home/ann/.config/holdfast"],
  ["win32", { ...windows, APPDATA: "config" }, "C:\\Users\\ann\\AppData\\Roaming\\holdfast"],
  ["win32", windows, "C:\\Users\\ann\\AppData\\Roaming\\holdfast"],
  ["win32", { HOME: "C:\\Users\\ann" }, "C:\\Users\\ann\\AppData\\Roaming\\holdfast"],
] as const)("reads what a user wrote where programs do: %s with %j", (platform, env, folder) => {
  expect(configFolder({ env }, platform)).toBe(folder);
});
