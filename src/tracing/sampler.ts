import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';

/** Which requests are traced: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
export interface SamplerOptions {
  readonly name: Root | `parentbased_${Root}`;
  /** The part that `traceidratio` takes, from 0 to 1. */
  readonly ratio: number;
}

type Root = 'always_on' | 'always_off' | 'traceidratio';

export function samplerOf({ name, ratio }: SamplerOptions): Sampler {
  switch (name) {
    case 'always_on':
      return new AlwaysOnSampler();
    case 'always_off':
      return new AlwaysOffSampler();
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio);
    case 'parentbased_always_on':
      return new ParentBasedSampler({ root: samplerOf({ name: 'always_on', ratio }) });
    case 'parentbased_always_off':
      return new ParentBasedSampler({ root: samplerOf({ name: 'always_off', ratio }) });
    case 'parentbased_traceidratio':
      return new ParentBasedSampler({ root: samplerOf({ name: 'traceidratio', ratio }) });
  }
}
