import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { SETTINGS } from './settings.ts';

/** The variables of an environment file. */
export interface EnvironmentFile {
  /** The values of settings. */
  readonly settings: Readonly<Record<string, string>>;
  /** Names of variables that are not Holdall settings. They must not reach the environment of a process. */
  readonly ignored: readonly string[];
}

/**
 * Reads a file of `NAME=value` lines. Returns undefined if it does not exist. Throws the system's error if it is
 * unreadable.
 */
export function readEnvironmentFile(path: string): EnvironmentFile | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const variables = Object.entries(parseEnv(text)).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const isSetting = (name: string) => Object.hasOwn(SETTINGS, name);
  return {
    settings: Object.fromEntries(variables.filter(([name]) => isSetting(name))),
    ignored: variables.map(([name]) => name).filter((name) => !isSetting(name)),
  };
}
