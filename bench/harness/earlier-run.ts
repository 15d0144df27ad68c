import { readFile } from 'node:fs/promises';
import type { Static, TSchema } from 'typebox';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { UsageError } from '../../testing/options.ts';

/** A comparison in the JSON of a run. */
export type Measurement = Static<typeof Measurement>;

const NumberOrNull = Type.Union([Type.Number(), Type.Null()]);

const listOf = <Item extends TSchema>(item: Item) => Type.Immutable(Type.Array(item));

const Measurement = Type.Object({
  id: Type.String(),
  unit: Type.Union([Type.Literal('requests/s'), Type.Literal('seconds')]),
  reference: Type.String(),
  contenders: listOf(
    Type.Object({
      name: Type.String(),
      samples: listOf(
        Type.Object({
          value: Type.Number(),
          cpuSeconds: NumberOrNull,
          peakMemory: NumberOrNull,
          latencyP99: NumberOrNull,
          residentMemory: Type.Optional(Type.Object({ idle: Type.Number(), peak: Type.Number() })),
          idleProcess: Type.Optional(
            Type.Object({ resident: Type.Number(), proportional: Type.Number(), processes: Type.Number() }),
          ),
        }),
      ),
    }),
  ),
  verdicts: listOf(
    Type.Object({
      work: Type.String(),
      target: Type.String(),
      // One per round; null without a ratio.
      figures: listOf(NumberOrNull),
      isMet: Type.Boolean(),
    }),
  ),
});

/** Parses the figures of an earlier run from JSON of `targets`. Throws `UsageError` for any other JSON. */
export async function readEarlier(file: string): Promise<Measurement[]> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`${file} can't be read: ${String(error)}`);
  });
  const results: unknown = parse(text);
  const schema = Type.Object({ measurements: Type.Array(Measurement) });
  if (!Value.Check(schema, results)) throw new UsageError(`${file} is not what targets wrote`);
  return results.measurements;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
