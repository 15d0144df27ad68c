/** Why no thumbnail can be made of an image. */
export type RenderFault =
  /** It is in none of the formats that are read. */
  | 'unsupported'
  /** Its format is known, and nothing to look at can be had from it. */
  | 'damaged'
  /** It has more pixels than are decoded. */
  | 'too-many-pixels'
  /** It is compressed, and larger than a source may be when it is unpacked. */
  | 'too-large-unpacked'
  /** It needs more memory than a drawing process may take. */
  | 'too-much-memory'
  /** It takes longer than a render may. */
  | 'too-slow'
  /** The drawing process was killed by something else, which says nothing of the image. */
  | 'killed';

const FAULTS: readonly RenderFault[] = [
  'unsupported',
  'damaged',
  'too-many-pixels',
  'too-large-unpacked',
  'too-much-memory',
  'too-slow',
  'killed',
];

/**
 * What drawing throws on purpose. It knows of images only, not of the file that one came from; `message` is what
 * libvips said, for the log.
 */
export class RenderError extends Error {
  override readonly name = 'RenderError';
  readonly fault: RenderFault;
  /** Width × height in pixels, where they are what is wrong and known. */
  readonly dimensions: string | undefined;

  constructor(fault: RenderFault, message: string, options: { cause?: unknown; dimensions?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.fault = fault;
    this.dimensions = options.dimensions;
  }
}

/** The error as text for another process, which begins with `{`. */
export function serializeRenderError({ fault, message, dimensions }: RenderError): string {
  return JSON.stringify({ fault, message, dimensions });
}

/** The error that `serializeRenderError` made the text of; throws when it did not. */
export function parseRenderError(text: string): RenderError {
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed === 'object' && parsed !== null && 'fault' in parsed && isRenderFault(parsed.fault)) {
    const message = 'message' in parsed ? String(parsed.message) : '';
    const dimensions = 'dimensions' in parsed ? String(parsed.dimensions) : undefined;
    return new RenderError(parsed.fault, message, { dimensions });
  }
  throw new TypeError(`No fault of an image: ${text}`);
}

function isRenderFault(value: unknown): value is RenderFault {
  return FAULTS.some((fault) => fault === value);
}
