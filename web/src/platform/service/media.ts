import type { Service } from './service.ts';
import { escapePath } from './urls.ts';

/** The properties of an image, as its file has them. */
export interface Media {
  /** The size in pixels, upright. */
  readonly width: number;
  readonly height: number;
  /** The local time, with the offset from UTC if the file has it: `2026-11-01T20:41:00`. */
  readonly takenAt?: string;
  readonly camera?: string;
  readonly lens?: string;
  /** Millimetres. */
  readonly focalLength?: number;
  /** The f-number. */
  readonly aperture?: number;
  /** Seconds. */
  readonly exposureTime?: number;
  readonly iso?: number;
  readonly location?: { readonly latitude: number; readonly longitude: number };
}

/** Returns the properties of an image. Throws `ServiceError`, or the `AbortError` of the signal. */
export async function readMedia(service: Pick<Service, 'send'>, path: string, signal: AbortSignal): Promise<Media> {
  const { media } = await service.send<{ media: Media }>(`-/media/${escapePath(path)}`, { signal });
  return media;
}
