import { SETTINGS, type Setting, type SettingName, type Settings } from './settings.ts';

export type Config = Settings;

/** All mistakes in the settings, a line each. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The settings have ${problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}

/** Reads the settings from an environment. Throws `SettingsError` with every mistake at once; secrets are not shown. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = [];
  const config: Partial<Record<SettingName, unknown>> = {};
  for (const [name, setting] of Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]) {
    const given = environment[name] || setting.fallback;
    if (given === null) continue;
    const reading = setting.read(given);
    if ('value' in reading) config[name] = reading.value;
    else problems.push(`${name} ${reading.problem}${describe(given, setting)}. Example: ${name}=${setting.example}`);
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return config as Config;
}

function describe(given: string, setting: Setting<unknown>): string {
  return setting.isSecret ? '' : `, and is ${JSON.stringify(given)}`;
}
