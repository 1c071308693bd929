/** A disk that can fill up. */
export type Storage = "database" | "files" | "local disk";

/** How long a disk counts as full after a write failed, in milliseconds. */
const fullForMs = 5 * 60 * 1000;

const lastFull = new Map<Storage, number>();

/** Records that a write failed because the disk was full. */
export function recordDiskFull(storage: Storage): void {
  lastFull.set(storage, Date.now());
}

/** When a write last failed on a full disk; undefined if that is long ago. */
export function diskFullAt(storage: Storage): Date | undefined {
  const at = lastFull.get(storage);
  return at !== undefined && Date.now() - at < fullForMs ? new Date(at) : undefined;
}

/** Whether an error says that a disk or a quota is full. */
export function isNoSpace(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { code, message, cause } = error as { code?: unknown; message?: unknown; cause?: unknown };
  return (
    code === "ENOSPC" ||
    code === "EDQUOT" ||
    /No space left on device|Disk quota exceeded|\bENOSPC\b/.test(String(message)) ||
    (cause !== undefined && isNoSpace(cause))
  );
}

/** Records a full disk of this machine. Errors of other systems have no `syscall`. */
export function recordLocalDiskFull(error: unknown): boolean {
  const isLocal = error instanceof Error && "syscall" in error && isNoSpace(error);
  if (isLocal) recordDiskFull("local disk");
  return isLocal;
}
