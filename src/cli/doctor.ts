import { url as readUrl } from '../config/readers.ts';
import { version } from '../system.ts';
import { type CommandContext, readArguments, UsageError } from './command.ts';

/** The exit code of a program that Ctrl+C ended, as shells have it. */
const INTERRUPTED = 130;

/**
 * `holdall doctor`: looks at the settings, the store and the address of the service, and says what to do about what is not
 * as it should be. 0 where nothing failed, 1 where something did.
 */
export async function runDoctor({ args, environment, print }: CommandContext): Promise<number> {
  const { values } = readArguments('doctor', args, {
    options: { url: { type: 'string' }, token: { type: 'string' }, json: { type: 'boolean', default: false } },
    names: [],
  });
  const given = values.url === undefined ? undefined : readUrl({ path: true })(values.url);
  if (given && 'problem' in given) throw new UsageError('doctor', `--url ${given.problem}.`);
  // Loaded here, since it is much, and of no use to the other commands.
  const { examine } = await import('../doctor/examine.ts');
  using interrupts = watchInterrupts();
  const isWell = await examine({
    environment,
    url: given?.value,
    token: values.token ?? (environment['HOLDALL_TOKEN'] || undefined),
    json: values.json,
    version,
    print,
    signal: interrupts.first,
    impatient: interrupts.second,
  });
  if (interrupts.first.aborted) return INTERRUPTED;
  return isWell ? 0 : 1;
}

/** Signals that are aborted by the first and by the second request to end. */
function watchInterrupts() {
  const [first, second] = [new AbortController(), new AbortController()];
  const end = () => (first.signal.aborted ? second : first).abort(new Error('It was interrupted.'));
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
