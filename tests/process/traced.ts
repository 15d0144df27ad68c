import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { type Behaviour, type Collector, startCollector } from '../../testing/servers/collector.ts';
import type { CollectedSpan } from '../../testing/servers/otlp.ts';
import { type ServiceInProcess, startInProcess } from '../../testing/service.ts';

/** The service, and the collector to which it sends its traces. */
export interface Traced {
  readonly collector: Collector;
  readonly service: ServiceInProcess;
  /** Stops the service, which then sends its remaining spans. Returns all spans. */
  stop(): Promise<readonly CollectedSpan[]>;
}

/** Requests from this machine count as requests of a trusted proxy, so that their IDs and traces are accepted. */
const TRUSTING = { ACCESS: 'open', TRUST_PROXY: 'loopback' };

export async function startTraced(
  t: TestContext,
  { settings, behaviour }: { settings?: Readonly<Record<string, string>>; behaviour?: Behaviour } = {},
): Promise<Traced> {
  const collector = await startCollector(behaviour);
  atEnd(t, () => collector.stop());
  const service = await startInProcess(t, {
    settings: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...TRUSTING, ...settings },
  });
  return {
    collector,
    service,
    async stop() {
      assert.equal(await service.stop(), 'finished');
      return collector.spans;
    },
  };
}

/** Returns the span of the request with this ID. */
export function requestIn(spans: readonly CollectedSpan[], requestId: string): CollectedSpan {
  const [found, ...others] = spans.filter(({ attributes }) => attributes['holdall.request_id'] === requestId);
  assert.ok(found && others.length === 0, `${others.length} more spans have the request ${requestId}.`);
  return found;
}

/** Returns the child spans of a span. */
export function partsOf(spans: readonly CollectedSpan[], { traceId, spanId }: CollectedSpan): CollectedSpan[] {
  return spans.filter((span) => span.traceId === traceId && span.parentSpanId === spanId);
}
