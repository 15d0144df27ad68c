import { splitName } from './paths.ts';

/** Returns the first free name of `cat.jpg`, `cat (2).jpg`, `cat (3).jpg`, …. Names of folders have no extension. */
export function freeName(name: string, isTaken: (name: string) => boolean, isFolder = false): string {
  if (!isTaken(name)) return name;
  const { stem, extension } = isFolder ? { stem: name, extension: '' } : splitName(name);
  const numbered = /^(?<base>.*) \((?<number>\d{1,6})\)$/s.exec(stem)?.groups;
  const base = numbered?.['base'] ?? stem;
  for (let number = Number(numbered?.['number'] ?? 1) + 1; ; number++) {
    const candidate = `${base} (${number})${extension}`;
    if (!isTaken(candidate)) return candidate;
  }
}
