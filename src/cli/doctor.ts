import { url as readUrl } from '../settings/readers.ts';
import { version } from '../system.ts';
import { type CommandContext, EXIT_INTERRUPTED, readArguments, UsageError } from './command.ts';

/**
 * `holdall doctor`: checks the settings, the store and the public URL, and prints advice for each problem. Exit codes:
 * 0 if no check failed, 1 if one failed, 130 if interrupted.
 */
export async function runDoctor({ args, environment, print }: CommandContext): Promise<number> {
  const { values } = readArguments('doctor', args, {
    options: { url: { type: 'string' }, token: { type: 'string' }, json: { type: 'boolean', default: false } },
    names: [],
  });
  const parsedUrl = values.url === undefined ? undefined : readUrl({ path: true })(values.url);
  if (parsedUrl && 'problem' in parsedUrl) throw new UsageError('doctor', `--url ${parsedUrl.problem}.`);
  // Loaded on demand, because it is large and other commands don't need it.
  const { examine } = await import('../doctor/examine.ts');
  using interrupts = interruptSignals();
  const isHealthy = await examine({
    environment,
    url: parsedUrl?.value,
    token: values.token ?? (environment['HOLDALL_TOKEN'] || undefined),
    json: values.json,
    version,
    print,
    signal: interrupts.first,
    abortRemoval: interrupts.second,
  });
  if (interrupts.first.aborted) return EXIT_INTERRUPTED;
  return isHealthy ? 0 : 1;
}

/** Returns two signals: the first interrupt aborts the first one, the second interrupt the other one. */
function interruptSignals() {
  const [first, second] = [new AbortController(), new AbortController()];
  const end = () => (first.signal.aborted ? second : first).abort(new Error('Interrupted'));
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of names) process.on(name, end);
  return {
    first: first.signal,
    second: second.signal,
    [Symbol.dispose]() {
      for (const name of names) process.off(name, end);
    },
  };
}
