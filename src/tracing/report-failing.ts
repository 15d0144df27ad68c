import type { SpanExporter } from '@opentelemetry/sdk-trace';

/** Told when spans can't be sent, and when they can again. */
export interface FailingReport {
  readonly onFailing: (reason: string) => void;
  readonly onTaken: () => void;
}

/** The same exporter, which tells of the first failure of many, and of their end: the library keeps them to itself. */
export function reportFailing(exporter: SpanExporter, { onFailing, onTaken }: FailingReport): SpanExporter {
  let isFailing = false;
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result;
        if (error && !isFailing) onFailing(error.message);
        if (!error && isFailing) onTaken();
        isFailing = error !== undefined;
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
