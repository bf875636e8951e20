//! What stands in words that the loader fills and nothing writes afterwards.

use tare_image::Image;

/// The code of this image whose address a slot holds for good: by a symbol that is defined here, or, where the word is
/// constant and none of the code is seen to write it (`written`, sorted), as it was relocated or stands in the file.
pub(crate) fn code_in(image: &Image<'_>, written: &[u64], slot: u64) -> Option<u64> {
    let by_symbol = image.relocation_at(slot).is_some_and(|one| one.symbol.is_some());
    let stays = || image.is_constant(slot) && written.binary_search(&slot).is_err();
    image.pointer_at(slot).filter(|&target| (by_symbol || stays()) && image.is_code(target))
}
