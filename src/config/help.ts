import { SETTINGS, type Setting } from './settings.ts';

/** What `--help` prints. */
export function helpText(version: string): string {
  const settings = Object.entries(SETTINGS).map(([name, setting]: [string, Setting<unknown>]) => {
    const fallback = setting.fallback === null ? '' : ` [${setting.fallback}]`;
    return `  ${name}${fallback}\n      ${setting.help.replaceAll('`', '')}`;
  });
  return `Holdall ${version}: one HTTP interface for the files in a folder of this machine, a bucket or a repository.

Usage: holdall [--help | --version]

It is set by environment variables, or by a file .env in the working directory; defaults in brackets:

${settings.join('\n')}
`;
}
